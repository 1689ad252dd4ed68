import { setTimeout as delay } from 'node:timers/promises';
import { type ExposedMetric, parseExposition } from '../../support/exposition.ts';
import type { Running } from './command.ts';

/** The HTTP server of a command that runs with `--listen`. */
export interface CommandStatus {
  readonly url: string;
  metrics(): Promise<ReadonlyMap<string, ExposedMetric>>;
  /** What `/readyz` answers. */
  ready(): Promise<{ readonly status: number; readonly reasons: readonly string[] }>;
  /** Reads the metrics until they are as wanted. */
  metricsWhen(
    isSo: (metrics: ReadonlyMap<string, ExposedMetric>) => boolean,
  ): Promise<ReadonlyMap<string, ExposedMetric>>;
  /** Asks `/readyz` until it has a reason. */
  unreadyFor(reason: string): Promise<void>;
}

/** Waits until a command says where it listens. */
export async function statusOf(running: Running): Promise<CommandStatus> {
  const shown = await running.shows('/livez and /readyz.');
  const [, url] = /Listening on (\S+) for/.exec(shown) ?? [];
  if (url === undefined) throw new Error(`No address: ${shown}`);
  const status: CommandStatus = {
    url,
    metrics: async () => parseExposition(await (await fetch(`${url}/metrics`)).text()),
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
        if (code === 503 && reasons.includes(reason)) return;
        await delay(50);
      }
    },
  };
  return status;
}
