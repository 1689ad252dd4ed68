import type { NoticeFacts, OnNotice } from '../common/notice.ts';
import {
  type DueSchedule,
  type KeptSchedule,
  nextDue,
  type ScheduleQueue,
} from '../queue/bullmq/schedules/schedule-queue.ts';
import type { ReadSchedule } from './read-schedule.ts';
import type { WantedSchedules } from './scheduled-files.ts';

export interface KeepSchedulesOptions {
  readonly wanted: WantedSchedules;
  readonly queue: Pick<ScheduleQueue, 'read' | 'keep' | 'forget' | 'ask'>;
  /** Called with messages that are worth a line in a log. */
  readonly onNotice: OnNotice;
  readonly nowMs?: () => number;
}

/** Keeps the schedules in Redis in step with the files. */
export interface ScheduleKeeper {
  /** Makes Redis match the files. Unchanged schedules are left alone. */
  start(): Promise<void>;
  /**
   * Applies edits. A file that cannot be read keeps the schedule that it had. An edit that Redis
   * refuses is applied the next time.
   */
  takeUp(edited: ReadonlyMap<string, ReadSchedule>): Promise<void>;
  /** Restores schedules that Redis has lost, or that a clock that was ahead has put off. */
  mend(): Promise<void>;
}

/** A tick that is this late will not come any more. */
const LOST_TICK_MS = 60_000;
/** The clocks of several machines differ by less than this, or one of them is wrong. */
const FARTHEST_AHEAD_MS = 24 * 60 * 60_000;

export function keepSchedules(options: KeepSchedulesOptions): ScheduleKeeper {
  const { queue, onNotice, nowMs = Date.now } = options;
  const wanted = new Map(options.wanted);
  /** Edits that are not in Redis yet, because it may have refused them. */
  const edits = new Map<string, ReadSchedule>();

  /**
   * Schedules that were lost get a warning, since somebody may have to look at that. Schedules
   * taken up from files are as it should be.
   */
  async function keep(
    job: string,
    schedule: KeptSchedule,
    { words, level = 'info' }: { readonly words: string; readonly level?: NoticeFacts['level'] },
  ): Promise<void> {
    await queue.keep(job, schedule);
    onNotice(`${job}: ${words} '${schedule.cron}' (${schedule.timezone}).`, { level, job });
  }

  async function forget(job: string): Promise<void> {
    await queue.forget(job);
    wanted.delete(job);
    onNotice(`${job}: its schedule is no longer in the files and was removed from Redis.`, {
      job,
    });
  }

  /** Schedules that were kept while a clock was years ahead would not be due for years. */
  async function promote(kept: ReadonlyMap<string, DueSchedule>): Promise<void> {
    for (const [job, schedule] of wanted) {
      const nextAtMs = kept.get(job)?.nextAtMs;
      if (!schedule || nextAtMs === undefined) continue;
      const { cron: pattern, timezone: tz } = schedule;
      if (nextAtMs <= nextDue(nowMs() + FARTHEST_AHEAD_MS, { pattern, tz })) continue;
      const until = new Date(nextAtMs).toISOString();
      const words = `was postponed to ${until} by a clock that was ahead; it is scheduled again for`;
      await keep(job, schedule, { words, level: 'warn' });
    }
  }

  async function apply(job: string, found: ReadSchedule): Promise<void> {
    if (found.kind === 'unscheduled' && wanted.has(job)) await forget(job);
    if (found.kind !== 'scheduled') return;
    const before = wanted.get(job);
    if (!before || !isSame(before, found.schedule)) {
      await keep(job, found.schedule, { words: 'is now scheduled for' });
    }
    wanted.set(job, found.schedule);
  }

  return {
    start: async () => {
      const { add, change, remove, missed } = reconcile(wanted, await queue.read(), nowMs());
      for (const [job, words] of [
        ...add.map((job) => [job, 'is scheduled for'] as const),
        ...change.map((job) => [job, 'is now scheduled for'] as const),
      ]) {
        const schedule = wanted.get(job);
        if (schedule) await keep(job, schedule, { words });
      }
      for (const [job, dueAtMs] of missed) await queue.ask({ job, dueAtMs, why: 'missed' });
      for (const job of remove) await forget(job);
      await promote(await queue.read());
    },
    takeUp: async (edited) => {
      for (const [job, found] of edited) edits.set(job, found);
      for (const [job, found] of edits) {
        await apply(job, found);
        edits.delete(job);
      }
    },
    mend: async () => {
      const kept = await queue.read();
      for (const [job, schedule] of wanted) {
        const nextAtMs = kept.get(job)?.nextAtMs;
        const isThere = nextAtMs !== undefined && nextAtMs > nowMs() - LOST_TICK_MS;
        if (!schedule || isThere) continue;
        const words = 'was lost from Redis; it is again scheduled for';
        await keep(job, schedule, { words, level: 'warn' });
        if (nextAtMs !== undefined) await queue.ask({ job, dueAtMs: nextAtMs, why: 'missed' });
      }
      await promote(kept);
    },
  };
}

/** The changes that make Redis match the files. */
interface Reconciliation {
  /** Schedules that are new. */
  readonly add: readonly string[];
  /** Schedules with another cron or time zone. */
  readonly change: readonly string[];
  /** Schedules that are in no file any more. */
  readonly remove: readonly string[];
  /** When jobs were due whose schedule changed before a process was there to run them. */
  readonly missed: ReadonlyMap<string, number>;
}

/**
 * Compares the files with Redis. Unchanged schedules are left alone, since an overdue tick is what
 * shows a missed night.
 *
 * @param wanted by the name of the job; undefined for a file that cannot be read, which keeps its
 * schedule
 */
export function reconcile(
  wanted: ReadonlyMap<string, KeptSchedule | undefined>,
  kept: ReadonlyMap<string, DueSchedule>,
  nowMs: number,
): Reconciliation {
  const known = [...wanted].flatMap(([job, schedule]) => (schedule ? [{ job, schedule }] : []));
  const change = known
    .filter(({ job, schedule }) => {
      const old = kept.get(job);
      return old !== undefined && !isSame(old, schedule);
    })
    .map(({ job }) => job);
  return {
    add: known.filter(({ job }) => !kept.has(job)).map(({ job }) => job),
    change,
    remove: [...kept.keys()].filter((job) => !wanted.has(job)),
    missed: new Map(
      change.flatMap((job) => {
        const dueAtMs = kept.get(job)?.nextAtMs ?? nowMs;
        return dueAtMs < nowMs ? [[job, dueAtMs] as const] : [];
      }),
    ),
  };
}

function isSame(a: KeptSchedule, b: KeptSchedule): boolean {
  return a.cron === b.cron && a.timezone === b.timezone;
}
