import { BrandfillError, EXIT, type OnNotice } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { aborted, createCallbackGuard, createCloser, within } from '../common/lifetime.ts';
import {
  COLLECT_OPTIONS,
  type CollectSettings,
  type LOG_FLAGS,
} from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { libraryNaming, type OptionKinds, readOptions } from '../options/read-options.ts';
import { openStatus } from '../page/status.ts';
import { toQueueError } from '../queue/redis-errors.ts';
import { type RunCommand, serve } from './command.ts';

/** Options of a collector. */
export interface CollectOptions extends OptionsOf<typeof COLLECT_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** Stops the collector in order: outcomes that arrived are written, and files are finished. */
  readonly signal?: AbortSignal | undefined;
  /** Called with notices, each worth a line in a log. */
  readonly onNotice?: OnNotice | undefined;
}

/** The result of a collector. */
export interface Collected {
  /** Lines written to the files of found outcomes. */
  readonly enriched: number;
  /** Lines written to the files of all other outcomes. */
  readonly failures: number;
}

/** A file that would become larger is finished, and the next one started. */
const LARGEST_FILE_BYTES = 1_000_000_000;
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
  const known = { of: 'collect', declared: COLLECT_OPTIONS, others: OTHERS, describe };
  const settings = readOptions(options, known);
  const { signal, onNotice = () => {} } = options;
  const { queue } = settings;
  if (queue === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot collect without a queue: give ${describe('queue')}, or set BRANDFILL_QUEUE.`,
    );
  }
  const callbackGuard = createCallbackGuard([signal]);
  const context = {
    signal: callbackGuard.signal,
    onNotice: callbackGuard.guard(onNotice),
    describe,
  };
  const collected = await collectFrom({ ...settings, queue }, context);
  callbackGuard.throwIfFailed();
  return collected;
}

const OTHERS: OptionKinds<BesideSettings> = {
  signal: 'signal',
  onNotice: 'function',
};

interface CollectContext {
  readonly signal: AbortSignal;
  readonly onNotice: OnNotice;
  /** The name of a setting in messages. */
  readonly describe: (key: string) => string;
}

async function collectFrom(
  settings: CollectSettings & { readonly queue: string },
  { signal, onNotice, describe }: CollectContext,
): Promise<Collected> {
  const { queue, outDir, acceptEviction = false } = settings;
  const { collectOutcomes, createQueueReader, findRedisTrouble, openQueueServer } = await import(
    '../queue/index.ts'
  );
  const { openCollectFiles } = await import('../queue/collect-files.ts');
  const counts = { enriched: 0, failures: 0 };
  const closer = createCloser();
  const failed = new AbortController();
  try {
    const status = await openStatus({ settings, describe, command: 'collect', onNotice });
    if (status) closer.add(status);
    const redis = closer.add(await openQueueServer({ url: queue, acceptEviction, onNotice }));
    const files = closer.add(
      await openCollectFiles({
        folder: outDir,
        flag: describe('outDir'),
        maxFileBytes: LARGEST_FILE_BYTES,
        now: Date.now,
        onNotice,
        signal,
      }),
    );
    const onFailure = (error: unknown): void => failed.abort(error);
    const collector = await collectOutcomes({
      redis,
      files,
      counts,
      onNotice,
      onFailure,
      signal,
    });
    onNotice(`Waiting for outcomes on Redis at ${redis.name}; they go to ${outDir}.`, {
      level: 'info',
    });
    status?.health.check(() => findRedisTrouble(redis));
    status?.health.check(() => (signal.aborted ? 'it was told to stop' : undefined));
    status?.metrics.forCollector({ counts, folder: outDir });
    status?.metrics.forQueues(createQueueReader(redis));
    status?.health.started();
    const timer = setInterval(() => void files.finish(false).catch(onFailure), TIDY_MS);
    await aborted(AbortSignal.any([signal, failed.signal]));
    clearInterval(timer);
    const isStopped = await within(SHUTDOWN_TIMEOUT_MS, collector.close());
    if (!isStopped) onNotice('Redis does not answer: what was not read is read at the next start.');
    if (failed.signal.aborted) throw failed.signal.reason;
    await files.finish(true);
    return counts;
  } catch (error) {
    if (signal.aborted && error === signal.reason) return counts; // while it waited for another
    throw toQueueError(error);
  } finally {
    await closer.close();
  }
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
