import { openBackfillWriter } from '../collector/backfill/backfill-writer.ts';
import { openBackfillFolder } from '../collector/backfill/journal.ts';
import { toLines } from '../collector/backfill/outcome-lines.ts';
import { BrandfillError, type OnNotice } from '../common/errors.ts';
import { aborted, createCallbackGuard, createCloser, within } from '../common/lifetime.ts';
import { openStatus } from '../metrics/status.ts';
import { COLLECT_OPTIONS, type CollectSettings } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { libraryNaming, type OptionKinds, readOptions } from '../options/read-options.ts';

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
  /** Replies that came again and were in the files already. */
  readonly repeated: number;
}

/** How often to check whether the hour of a file is over. */
const TIDY_MS = 10_000;
/**
 * Redis may be away when a collector is told to stop. Outcomes that are not acknowledged come
 * again. Docker kills after ten seconds.
 */
const SHUTDOWN_TIMEOUT_MS = 5_000;

/**
 * Writes the outcomes of backfills, whose chunks name no queue of their own, to files by the hour:
 * `enriched-2026-11-21T08.jsonl` and `failures-2026-11-21T08.jsonl`. A file that is being written
 * ends in `.part`. Each reply is in the files exactly once, even if the collector is killed.
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
  const { queue, outDir, maxFileSize, acceptEviction = false } = settings;
  const bullmq = await import('../queue/bullmq/index.ts');
  const { findRedisTrouble, createQueueReader } = bullmq;
  const counts = { enriched: 0, failures: 0, repeated: 0 };
  const closer = createCloser();
  const lost = new AbortController();
  try {
    const status = await openStatus({
      settings,
      describe,
      command: 'collect',
      onNotice,
    });
    if (status) closer.add(status);
    const redis = closer.add(
      await bullmq.openQueueServer({ url: queue, acceptEviction, onNotice }),
    );
    const folder = closer.add(await openBackfillFolder(outDir, describe('outDir')));
    const writer = await openBackfillWriter({
      folder: outDir,
      journal: folder.journal,
      maxFileBytes: maxFileSize,
      onNotice,
      isOurs: () => folder.isOurs(),
      onLost: () => lost.abort(),
    });
    await writer.tidy();
    const receiver = bullmq.receiveOutcomes({
      redis,
      keep: async (id, reply) => {
        const lines = toLines(reply);
        if (await writer.keep(id, lines)) {
          counts.enriched += lines.count.enriched;
          counts.failures += lines.count.failures;
        } else counts.repeated += 1;
      },
      onNotice,
    });
    onNotice(`Waiting for outcomes on Redis at ${redis.name}; they go to ${outDir}.`, {
      level: 'info',
    });
    const { client } = redis;
    closer.add(bullmq.watchQueuePause({ client, queue: bullmq.OUTCOMES_QUEUE, onNotice }));
    status?.health.check(() => findRedisTrouble(redis));
    status?.health.check(() => (signal.aborted ? 'it was told to stop' : undefined));
    status?.instruments.forCollector({ counts, folder: outDir });
    status?.instruments.forWorker().queues(createQueueReader(redis));
    status?.health.started();
    const timer = setInterval(() => void writer.tidy(), TIDY_MS);
    await aborted(AbortSignal.any([signal, lost.signal]));
    clearInterval(timer);
    writer.giveUp();
    const isStopped = await within(SHUTDOWN_TIMEOUT_MS, receiver.stop());
    if (!isStopped)
      onNotice('Redis does not answer: outcomes that were not confirmed will arrive again.');
    await writer.close();
  } finally {
    await closer.close();
  }
  if (!lost.signal.aborted) return counts;
  throw new BrandfillError(
    'UNWRITABLE_OUTPUT',
    `Cannot write to the folder ${outDir} any more: another collector took it while this one gave no sign of life; let one of them run.`,
  );
}
