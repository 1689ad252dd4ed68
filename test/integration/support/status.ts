import { setTimeout as delay } from 'node:timers/promises';
import type { Started } from './command.ts';

/** The values of metrics, by name and labels as they are written. */
export type Samples = ReadonlyMap<string, number>;

function samplesIn(text: string): Samples {
  const lines = text.matchAll(/^([^#\n].*) (\S+)$/gm);
  return new Map(Array.from(lines, ([, sample = '', value]) => [sample, Number(value)]));
}

/** The value of the sample with these labels and no others; undefined when there is none. */
export function valueOf(
  samples: Samples,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const own = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return samples.get(own.length === 0 ? name : `${name}{${own.join(',')}}`);
}

/** The HTTP server of a command that runs with `--listen`, once it says where it listens. */
export async function statusOf(running: Started) {
  const shown = await running.shows('/livez and /readyz.');
  const [, url = ''] = /Listening on (\S+) for/.exec(shown) ?? [];
  const metrics = async (): Promise<Samples> =>
    samplesIn(await (await fetch(`${url}/metrics`)).text());
  /** What `/readyz` answers. */
  const ready = async () => {
    const answer = await fetch(`${url}/readyz`);
    const { reasons } = (await answer.json()) as { reasons: readonly string[] };
    return { status: answer.status, reasons };
  };
  return {
    url,
    metrics,
    ready,
    /** Reads the metrics until they are as wanted. */
    metricsWhen: async (isSo: (metrics: Samples) => boolean): Promise<Samples> => {
      for (;;) {
        const now = await metrics();
        if (isSo(now)) return now;
        await delay(50);
      }
    },
    /** Asks `/readyz` until it has a reason. */
    unreadyFor: async (reason: string): Promise<void> => {
      for (;;) {
        const { status, reasons } = await ready();
        if (status === 503 && reasons.some((one) => one.startsWith(reason))) return;
        await delay(50);
      }
    },
  };
}
