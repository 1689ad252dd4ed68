import { setTimeout as delay } from 'node:timers/promises';
import { aborted } from '../common/abort.ts';
import type { OnNotice } from '../common/notice.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import type { ScheduleResults } from '../queue/bullmq/schedules/schedule-keepers.ts';
import type { ScheduleQueue } from '../queue/bullmq/schedules/schedule-queue.ts';
import type { takeRuns } from '../queue/bullmq/schedules/schedule-worker.ts';
import { toQueueError } from '../queue/bullmq/server/reasons.ts';
import type { RedisServer } from '../queue/bullmq/server/redis.ts';
import { createNoticeFilter } from '../queue/bullmq/server/refusals.ts';
import type { RunEvent } from '../watch/events.ts';
import type { ScheduleKeeper } from './keep-schedules.ts';
import { makeRun } from './make-run.ts';
import type { ScheduledFiles } from './scheduled-files.ts';

export interface ServeSchedulesOptions {
  readonly redis: RedisServer;
  readonly group: string;
  readonly queue: ScheduleQueue;
  readonly results: ScheduleResults;
  readonly takeRuns: typeof takeRuns;
  readonly scheduled: ScheduledFiles;
  readonly keeper: ScheduleKeeper;
  /** How long a process may be silent before its runs are given to another. */
  readonly leaseMs: number;
  readonly signal?: AbortSignal;
  readonly onNotice: OnNotice;
  readonly onRunEvent?: (job: string, event: RunEvent, run: string) => void;
  readonly onRunEnd?: (job: string) => void;
  /** Measures the runs. @default nothing */
  readonly instruments?: InstrumentMaker | undefined;
  /** The URL of the Redis, whose dashboard also shows the runs. */
  readonly url: string;
}

/** How often files are checked for edits. */
const POLL_MS = 2_000;
/** How often to check whether Redis still has its schedules. */
const MEND_MS = 30_000;
/** A run that begins this much later than it was due was missed. */
const LATE_MS = 60_000;

/** Makes the runs of a group until the signal fires, and applies edits meanwhile. */
export async function serveSchedules(options: ServeSchedulesOptions): Promise<void> {
  const { queue, results, scheduled, onNotice } = options;
  const { signal = new AbortController().signal } = options;
  const { files } = scheduled;

  const taker = options.takeRuns({
    ...options,
    atOnce: files.size,
    onTick: async (job, { atMs, agoMs }) => {
      if (!files.has(job)) return;
      const why = agoMs > LATE_MS ? 'missed' : 'due';
      if (await queue.ask({ job, why, dueAtMs: atMs })) return;
      await results.skip(job);
      const due = new Date(atMs).toISOString();
      onNotice(`${job}: was due at ${due} but is still running; this run is skipped.`, { job });
    },
    run: async (taken, runSignal) => {
      const { job } = taken;
      const file = files.get(job);
      if (file === undefined) return true;
      return await makeRun(taken, {
        file,
        results,
        signal: runSignal,
        instruments: options.instruments,
        board: options.url,
        group: options.group,
        onNotice,
        onEvent: (event, run) => options.onRunEvent?.(job, event, run),
        onEnd: () => options.onRunEnd?.(job),
      });
    },
  });
  const looking = keepLooking({ ...options, signal });
  await aborted(signal);
  await taker.stop();
  await Promise.race([looking, delay(0)]); // Redis may be gone, which would hold this up
}

async function keepLooking(
  options: ServeSchedulesOptions & { readonly signal: AbortSignal },
): Promise<void> {
  const { scheduled, keeper, signal, onNotice } = options;
  const isNew = createNoticeFilter();
  let mendedAtMs = performance.now(); // independent of changes to the clock
  for (;;) {
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    try {
      await keeper.takeUp(await scheduled.readEdited());
      if (performance.now() - mendedAtMs < MEND_MS) continue;
      await keeper.mend();
      mendedAtMs = performance.now();
    } catch (error) {
      const found = toQueueError(error);
      const message = found instanceof Error ? found.message : String(found);
      if (isNew(message)) onNotice(message);
    }
  }
}
