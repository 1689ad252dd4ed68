import { type Job, WaitingError, Worker } from 'bullmq';
import type { OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import { LOCK_MS } from './lock-time.ts';
import { ABSENT_MS, PREFIX, QUEUE_OPTIONS } from './names.ts';
import {
  openQueue,
  parsed,
  type RedisClient,
  type RedisServer,
  repeat,
  shortenLocks,
} from './redis.ts';

/** When a job file is due. */
export interface KeptSchedule {
  readonly cron: string;
  /** Always stored, because machines may be in different zones. */
  readonly timezone: string;
}

/** How a scheduled run ended. */
export interface ScheduledResult {
  /** In ISO 8601, UTC. */
  readonly startedAt: string;
  readonly finishedAt: string;
  /** The exit code, as of `brandfill run`. */
  readonly exitCode: number;
  /** How it went, or why it could not be run. */
  readonly headline: string;
  /** The machine that it ran on. */
  readonly host: string;
}

/** The known facts of a scheduled job. */
export interface ScheduledJob extends KeptSchedule {
  /** The name of its file without folder and ending. */
  readonly job: string;
  /** When it is due next, in ISO 8601, UTC. In the past when no process was there to run it. */
  readonly nextAt: string;
  /** Since when it has been running. */
  readonly runningSince?: string | undefined;
  /** Whether a run waits for a process to make it. */
  readonly isWaiting: boolean;
  /** Whether a process is there to run it. */
  readonly isKept: boolean;
  /** How its last runs ended, the latest first. */
  readonly results: readonly ScheduledResult[];
}

/** The schedules on a Redis. BullMQ makes a job of each when it is due. */
export interface Schedules extends Closable {
  list(): Promise<readonly ScheduledJob[]>;
  /** Notes how a run ended. */
  addResult(job: string, result: ScheduledResult): Promise<void>;
}

interface RunData {
  readonly job: string;
}

const QUEUE = 'schedules';
/**
 * A list of the results of a job: JSON, the latest first. Two processes may note theirs at once.
 */
const resultsKey = (job: string): string => `${PREFIX}:schedule-results:${job}`;
const KEPT_RESULTS = 30;
/** There while a process is. */
const ALIVE_KEY = `${PREFIX}:schedule-process`;
/** How often it says so, and looks whether Redis has lost the schedules. */
const LOOK_MS = 5_000;
/** A run with which so many processes were lost, or stopped, would end the next one too. */
const MOST_STARTS = 3;
const GONE = { removeOnComplete: true, removeOnFail: true };

export function openSchedules(client: RedisClient): Schedules {
  const queue = openQueue<RunData>(client, QUEUE);

  async function readResults(job: string): Promise<readonly ScheduledResult[]> {
    const texts = await client.lrange(resultsKey(job), 0, -1);
    return texts.map((text) => parsed(text) as ScheduledResult).filter(Boolean);
  }

  return {
    list: async () => {
      const [schedulers, isKept, active, waiting] = await Promise.all([
        queue.getJobSchedulers(),
        client.exists(ALIVE_KEY),
        queue.getActive(),
        queue.getWaiting(),
      ]);
      const listed = schedulers.map(async ({ key, pattern = '', tz = 'UTC', next = 0 }) => {
        const job = decodeURIComponent(key);
        const running = active.find(({ data }) => data.job === job);
        return {
          job,
          cron: pattern,
          timezone: tz,
          nextAt: new Date(next).toISOString(),
          runningSince: running && new Date(running.processedOn ?? 0).toISOString(),
          isWaiting: waiting.some(({ data }) => data.job === job),
          isKept: isKept === 1,
          results: await readResults(job),
        };
      });
      return (await Promise.all(listed)).toSorted((a, b) => a.job.localeCompare(b.job));
    },
    addResult: async (job, result) => {
      const key = resultsKey(job);
      const noting = client.multi().lpush(key, JSON.stringify(result));
      await noting.ltrim(key, 0, KEPT_RESULTS - 1).exec();
    },
    close: () => queue.close(),
  };
}

/** A run that is to be made. */
export interface DueRun {
  readonly job: string;
  /** When it was due, in milliseconds since 1970. */
  readonly dueAtMs: number;
  /** Whether it was begun before, by a process that was lost or stopped. */
  readonly isAgain: boolean;
}

export interface KeepSchedulesOptions {
  readonly redis: RedisServer;
  /** By job. They replace what is on Redis. */
  readonly wanted: ReadonlyMap<string, KeptSchedule>;
  /**
   * Makes a run.
   *
   * @param signal fires when the run is to end early, because this process stops
   * @returns whether it came to its end. Otherwise it is made again.
   */
  readonly run: (due: DueRun, signal: AbortSignal) => Promise<boolean>;
  /** Called when a run is given up, since processes were lost with it again and again. */
  readonly onGivenUp: (job: string, starts: number) => void;
  readonly onNotice: OnNotice;
}

/**
 * Keeps schedules, and makes the runs that are due, one at a time, on all machines together:
 *
 *   delayed ──due──▶ waiting ──▶ running ─┬─ over ─────────────────▶ gone; the next one is delayed
 *                       ▲                 ├─ due again meanwhile ──▶ is run behind it
 *                       └── process lost, ┘
 *                           or stopping
 */
export async function keepSchedules(options: KeepSchedulesOptions): Promise<Closable> {
  const { redis, wanted, run, onGivenUp, onNotice } = options;
  const { client } = redis;
  const queue = openQueue<RunData>(client, QUEUE);
  const stopping = new AbortController();

  /** Makes Redis match. What is as it was is left alone: its next time may be a missed one. */
  async function keep(isStart: boolean): Promise<void> {
    await client.set(ALIVE_KEY, '1', 'PX', ABSENT_MS);
    await shortenLocks(client, queue);
    const kept = new Map((await queue.getJobSchedulers()).map((each) => [each.key, each]));
    if (!isStart && kept.size > 0) return;
    await queue.setGlobalConcurrency(1);
    for (const [job, { cron, timezone }] of wanted) {
      const key = encodeURIComponent(job);
      const known = kept.get(key);
      kept.delete(key);
      if (known?.pattern === cron && known.tz === timezone) continue;
      const template = { name: 'run', data: { job }, opts: GONE };
      await queue.upsertJobScheduler(key, { pattern: cron, tz: timezone }, template);
      onNotice(`${job}: is scheduled for '${cron}' (${timezone}).`, { level: 'info', job });
    }
    for (const key of kept.keys()) {
      const job = decodeURIComponent(key);
      await queue.removeJobScheduler(key);
      await client.del(resultsKey(job));
      onNotice(`${job}: its schedule is none of those given and was removed from Redis.`, { job });
    }
  }

  async function work(due: Job<RunData>, token = ''): Promise<void> {
    const { data, timestamp, attemptsStarted } = due;
    const { prevMillis: dueAtMs = timestamp } = due.opts;
    const isDone = await run(
      { job: data.job, dueAtMs, isAgain: attemptsStarted > 1 },
      stopping.signal,
    );
    if (isDone || !stopping.signal.aborted) return;
    await due.moveToWait(token);
    throw new WaitingError();
  }

  await keep(true);
  const worker = new Worker<RunData>(QUEUE, work, {
    ...QUEUE_OPTIONS,
    connection: redis.connect(),
    lockDuration: LOCK_MS,
    stalledInterval: LOCK_MS / 3,
    maxStalledCount: MOST_STARTS,
    maxStartedAttempts: MOST_STARTS,
  });
  worker.on('error', redis.refused);
  worker.on('failed', (job) => job && onGivenUp(job.data.job, MOST_STARTS));
  const looking = repeat(LOOK_MS, () => keep(false), redis.refused);
  return {
    close: async () => {
      stopping.abort();
      void looking.close();
      await worker.close();
      await queue.close();
      await client.del(ALIVE_KEY);
    },
  };
}
