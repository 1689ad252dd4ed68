import { EXIT, type OnNotice } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { aborted, createCallbackGuard, within } from '../common/lifetime.ts';
import { COLLECT_OPTIONS, type LOG_FLAGS } from '../options/command-options.ts';
import { callback, signal } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf, readOptions } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { type RunCommand, serve } from './command.ts';
import { withQueue } from './with-queue.ts';

const COLLECT = {
  ...COLLECT_OPTIONS,
  /** Stops the collector in order: outcomes that arrived are written, and files are finished. */
  signal: signal(),
  /** Called with notices, each worth a line in a log. */
  onNotice: callback<OnNotice>(),
};

/** Options of a collector. */
export interface CollectOptions extends OptionsOf<typeof COLLECT> {}

/** The result of a collector. */
export interface Collected {
  /** Lines written to the files of found outcomes. */
  readonly enriched: number;
  /** Lines written to the files of all other outcomes. */
  readonly failures: number;
}

/** How often to check whether the hour of a file is over. */
const TIDY_MS = 10_000;
/**
 * Redis may be away when a collector is told to stop. Outcomes that are not acknowledged come
 * again. Docker kills after ten seconds.
 */
const SHUTDOWN_TIMEOUT_MS = 5_000;

/**
 * Writes the outcomes of backfills, of all APIs on a Redis, to files by the hour:
 * `enriched-2026-11-21T08.jsonl` and `failures-2026-11-21T08.jsonl`. A file that is being written
 * ends in `.part`. Each entry of the streams is in the files exactly once, even if the collector is
 * killed.
 *
 * @throws BrandfillError when an option, the queue or the folder cannot be used; the error that
 *   `onNotice` threw
 *
 * @example
 * ```ts
 * await collect({ queue: 'redis://localhost:6379/0', outDir: 'out' });
 * ```
 */
export async function collect(
  options: CollectOptions,
  describe: (key: string) => string = libraryNaming,
): Promise<Collected> {
  const settings = readOptions('collect', COLLECT, { given: options, describe });
  const callbackGuard = createCallbackGuard([options.signal]);
  const { signal } = callbackGuard;
  const onNotice = callbackGuard.guard(options.onNotice ?? (() => {}));
  const { outDir } = settings;
  const counts = { enriched: 0, failures: 0 };
  const failed = new AbortController();
  const onFailure = (error: unknown): void => failed.abort(error);
  const service = { purpose: 'collect', command: 'collect', settings, describe } as const;
  try {
    await withQueue({ ...service, signal, onNotice }, async ({ queue, redis, status, closer }) => {
      const { openCollectFiles } = await import('../queue/collect-files.ts');
      const flag = describe('outDir');
      const files = closer.add(
        await openCollectFiles({ folder: outDir, flag, now: Date.now, onNotice, signal }),
      );
      const collector = await queue.collectOutcomes({ redis, files, counts, onNotice, onFailure });
      onNotice(`Waiting for outcomes on Redis at ${redis.name}; they go to ${outDir}.`, {
        level: 'info',
      });
      status?.metrics.forCollector({ counts, folder: outDir });
      status?.metrics.forQueues(queue.createQueueReader(redis));
      status?.health.started();
      const timer = setInterval(() => void files.finish(false).catch(onFailure), TIDY_MS);
      await aborted(AbortSignal.any([signal, failed.signal]));
      clearInterval(timer);
      const isStopped = await within(SHUTDOWN_TIMEOUT_MS, collector.close());
      if (!isStopped)
        onNotice('Redis does not answer: what was not read is read at the next start.');
      failed.signal.throwIfAborted();
      await files.finish(true);
    });
  } catch (error) {
    if (!signal.aborted || error !== signal.reason) throw error; // or it waited for another
  }
  callbackGuard.throwIfFailed();
  return counts;
}

/** `brandfill collect` */
export const runCollect: RunCommand<typeof LOG_FLAGS> = async ({ options, ...call }) =>
  await serve(
    'collect',
    call,
    async ({ common, say }) => {
      const { enriched, failures } = await collect({ ...options, ...common }, flagOf);
      const lines = countOf(enriched + failures, 'line');
      const others = countOf(failures, 'other');
      say(`Stopped after ${lines}: ${formatCount(enriched)} found, ${others}.`);
      return EXIT.ok;
    },
    'Stopping: outcomes that have arrived are written, and files are finished. Interrupt again to end at once.',
  );
