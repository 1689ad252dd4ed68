import type {
  ScheduledResult,
  ScheduleResults,
} from '../queue/bullmq/schedules/schedule-keepers.ts';
import type { DueSchedule, ScheduleQueue } from '../queue/bullmq/schedules/schedule-queue.ts';

/** The known facts of a scheduled job. */
export interface ScheduledJob {
  /** The name of its file without folder and ending. */
  readonly job: string;
  /** The name of the group of schedules that it belongs to. */
  readonly group: string;
  readonly cron: string;
  readonly timezone: string;
  /** When it is due next, in ISO 8601, UTC. In the past when no process was there to run it. */
  readonly nextAt: string;
  /** Since when it has been running. */
  readonly runningSince?: string;
  /** Whether a run waits for a process to make it. */
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  /** How its last runs ended, the latest first. */
  readonly results: readonly ScheduledResult[];
}

export interface ListGroupOptions {
  readonly group: string;
  readonly queue: Pick<ScheduleQueue, 'read' | 'findRuns'>;
  readonly results: Pick<ScheduleResults, 'read'>;
  readonly isKept: boolean;
}

/** Lists the jobs of a group by name. */
export async function listGroup(options: ListGroupOptions): Promise<readonly ScheduledJob[]> {
  const { group, queue, results, isKept } = options;
  const schedules = [...(await queue.read())].sort(([a], [b]) => a.localeCompare(b));
  const runs = await queue.findRuns(schedules.map(([job]) => job));
  const toListed = async ([job, due]: readonly [string, DueSchedule]): Promise<ScheduledJob> => {
    const run = runs.get(job);
    return {
      job,
      group,
      cron: due.cron,
      timezone: due.timezone,
      nextAt: new Date(due.nextAtMs).toISOString(),
      ...(typeof run === 'number' ? { runningSince: new Date(run).toISOString() } : {}),
      isWaiting: run === 'waiting',
      isKept,
      results: await results.read(job),
    };
  };
  return await Promise.all(schedules.map(toListed));
}
