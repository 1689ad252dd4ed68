import { countOf, formatCount } from '../../common/format.ts';
import { aborted, within } from '../../common/lifetime.ts';
import { file } from '../../options/kinds.ts';
import { option, under } from '../../options/option.ts';
import { flagOf, QUEUE_OPTIONS, STATUS_OPTIONS } from '../../options/options.ts';
import { defineCommand, LOG_OPTIONS } from './command.ts';
import { type QueueService, serveQueue } from './with-queue.ts';

const COLLECT_OPTIONS = {
  ...QUEUE_OPTIONS,
  ...under('Files', {
    outDir: option(file('DIR'), {
      default: 'out',
      help: 'folder to write the files to; for one collector at a time',
    }),
  }),
  ...STATUS_OPTIONS,
  ...LOG_OPTIONS,
};

/** How often to check whether the hour of a file is over. */
const TIDY_MS = 10_000;
/**
 * Redis may be away when a collector is stopped. Outcomes that are not acknowledged come
 * again. Docker kills after ten seconds.
 */
const LAST_LINES_MS = 5_000;

/**
 * `brandfill collect`: writes the outcomes of backfills, of all APIs on a Redis, to files by the
 * hour. A file that is being written ends in `.part`. Each entry of the streams is in the files
 * exactly once, even if the collector is killed.
 */
export const collect = defineCommand(COLLECT_OPTIONS, async (call) => {
  const counts = { enriched: 0, failures: 0 };
  await serveQueue(call, async (opened) => {
    try {
      await collectInto(call.settings.outDir, counts, opened);
    } catch (error) {
      if (error !== opened.signal.reason) throw error; // or it waited for another
    }
    const { enriched, failures } = counts;
    const lines = countOf(enriched + failures, 'line');
    const others = countOf(failures, 'other');
    opened.say(`Stopped after ${lines}: ${formatCount(enriched)} found, ${others}.`);
  });
});

async function collectInto(
  folder: string,
  counts: { enriched: number; failures: number },
  { queue, redis, status, closer, signal, onNotice, say }: QueueService,
): Promise<void> {
  const failed = new AbortController();
  const onFailure = (error: unknown): void => failed.abort(error);
  const { openCollectFiles } = await import('../../queue/collect-files.ts');
  const flag = flagOf('outDir');
  const files = closer.add(
    await openCollectFiles({ folder, flag, now: Date.now, onNotice, signal }),
  );
  const collector = await queue.collectOutcomes({ redis, files, counts, onNotice, onFailure });
  say(`Waiting for outcomes on Redis at ${redis.name}; they go to ${folder}.`);
  status?.metrics.forQueues(queue.createQueueReader(redis));
  status?.health.started();
  const timer = setInterval(() => void files.finish(false).catch(onFailure), TIDY_MS);
  await aborted(AbortSignal.any([signal, failed.signal]));
  clearInterval(timer);
  const isStopped = await within(LAST_LINES_MS, collector.close());
  if (!isStopped) onNotice('Redis does not answer: what was not read is read at the next start.');
  failed.signal.throwIfAborted();
  await files.finish(true);
}
