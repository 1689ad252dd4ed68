import type { DueSchedule, KeptSchedule } from '../queue/bullmq/schedules/schedule-queue.ts';

/** What has to be done so that Redis has what the files say. */
export interface Reconciliation {
  /** Schedules that are new. */
  readonly add: readonly string[];
  /** Schedules of which the cron or the time zone is another one. */
  readonly change: readonly string[];
  /** Schedules that no file has any more. */
  readonly remove: readonly string[];
  /** When jobs were due whose schedule changed before anybody was there to run them. */
  readonly missed: ReadonlyMap<string, number>;
}

/**
 * Compares what the files say with what Redis has. What stays as it is, is left alone: an overdue tick
 * is what tells of a missed night.
 *
 * @param wanted by the name of the job; undefined is a file that cannot be read, which keeps what it has
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
