import type { DueSchedule, KeptSchedule } from '../queue/bullmq/schedules/schedule-queue.ts';

/** The changes that make Redis match the files. */
export interface Reconciliation {
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

export function isSame(a: KeptSchedule, b: KeptSchedule): boolean {
  return a.cron === b.cron && a.timezone === b.timezone;
}
