import { setTimeout as delay } from 'node:timers/promises';
import type { Started } from './command.ts';

/** The values of metrics, by name and labels as they are written. */
export type Samples = ReadonlyMap<string, number>;

function samplesIn(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
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

/** The HTTP server of a command that runs with `--listen`. */
export interface CommandStatus {
  readonly url: string;
  metrics(): Promise<Samples>;
  /** What `/readyz` answers. */
  ready(): Promise<{ readonly status: number; readonly reasons: readonly string[] }>;
  /** Reads the metrics until they are as wanted. */
  metricsWhen(isSo: (metrics: Samples) => boolean): Promise<Samples>;
  /** Asks `/readyz` until it has a reason. */
  unreadyFor(reason: string): Promise<void>;
}

/** Waits until a command says where it listens. */
export async function statusOf(running: Started): Promise<CommandStatus> {
  const shown = await running.shows('/livez and /readyz.');
  const [, url] = /Listening on (\S+) for/.exec(shown) ?? [];
  if (url === undefined) throw new Error(`No address: ${shown}`);
  const status: CommandStatus = {
    url,
    metrics: async () => samplesIn(await (await fetch(`${url}/metrics`)).text()),
    ready: async () => {
      const answer = await fetch(`${url}/readyz`);
      const { reasons } = (await answer.json()) as { reasons: readonly string[] };
      return { status: answer.status, reasons };
    },
    metricsWhen: async (isSo) => {
      for (;;) {
        const metrics = await status.metrics();
        if (isSo(metrics)) return metrics;
        await delay(50);
      }
    },
    unreadyFor: async (reason) => {
      for (;;) {
        const { status: code, reasons } = await status.ready();
        if (code === 503 && reasons.some((one) => one.startsWith(reason))) return;
        await delay(50);
      }
    },
  };
  return status;
}
