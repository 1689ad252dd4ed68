import type { Queue } from 'bullmq';
import { z } from 'zod';
import { inTime, NoAnswerError } from '../common/lifetime.ts';
import type { FoundWorker } from '../queue/bullmq/chunks/heartbeats.ts';
import {
  askRun,
  findGroups,
  findScheduleProcesses,
  openScheduleResults,
  pauseBackfills,
  readBacklog,
  readRuns,
  readWorkers,
  resumeBackfills,
  withScheduleQueue,
} from '../queue/bullmq/index.ts';
import type { AnnouncedRun } from '../queue/bullmq/runs/run-board.ts';
import type { ScheduleQueue } from '../queue/bullmq/schedule-queue.ts';
import type { RedisServer } from '../queue/bullmq/server/redis.ts';
import { reasonOf } from '../queue/bullmq/server/refusals.ts';
import { listGroup, type ScheduledJob } from '../schedule/group.ts';
import type {
  Board,
  BoardSource,
  RunState,
  ScheduleName,
  ScheduleState,
  WorkerState,
} from './board.ts';

export interface ShowQueueOptions {
  readonly redis: RedisServer;
  /** The queue of lookups. */
  readonly lookups: Queue;
  readonly now?: () => number;
}

/** A run announces its state once a second; one that is silent for this long is gone. */
const LOST_MS = 15_000;
/** Schedules seldom change, and cost more to read. */
const SCHEDULES_EVERY_MS = 3_000;

const LOST = 'What was found is kept: run the same command again to go on.';

/** Shows what all runs, workers and schedules on a Redis announce. */
export function showQueue({ redis, lookups, now = Date.now }: ShowQueueOptions): BoardSource {
  const { client } = redis;
  let schedules: readonly ScheduleState[] = [];
  let schedulesAtMs = Number.NEGATIVE_INFINITY;
  const states = new Map<string, { readonly json: string; readonly state: RunState | undefined }>();

  async function readSchedules(): Promise<readonly ScheduleState[]> {
    const listed: ScheduledJob[] = [];
    for (const group of await findGroups(client)) {
      const results = openScheduleResults(client, group);
      const isKept = (await findScheduleProcesses(client, group)).length > 0;
      const list = (queue: ScheduleQueue) => listGroup({ group, queue, results, isKept });
      listed.push(...(await withScheduleQueue(client, group, list)));
    }
    return listed.map(toScheduleState);
  }

  /** Each state is parsed once: most runs are over and do not change. */
  function stateOf({ id, state: json, silentMs }: AnnouncedRun): RunState | undefined {
    const known = states.get(id);
    const state = known?.json === json ? known.state : readRunState(id, json);
    states.set(id, { json, state });
    if (!state) return undefined;
    const isLost = state.phase !== 'ended' && silentMs > LOST_MS;
    if (!isLost) return state;
    // A schedule starts the run again by itself.
    const next = state.schedule ? undefined : LOST;
    return { ...state, phase: 'lost', actions: [], isPaused: false, next };
  }

  async function readStates(): Promise<Pick<Board, 'runs' | 'trouble'>> {
    const announced = await readRuns(client);
    const runs = announced.map(stateOf).filter((run) => run !== undefined);
    const there = new Set(announced.map(({ id }) => id));
    for (const id of states.keys()) if (!there.has(id)) states.delete(id);
    const unreadable = announced.length - runs.length;
    return {
      runs: dropOldRetries(runs),
      trouble: unreadable === 0 ? undefined : describeUnreadable(unreadable),
    };
  }

  async function runNow({ group, job }: ScheduleName): Promise<string | undefined> {
    return await withScheduleQueue(client, group, async (queue) => {
      if (!(await queue.read()).has(job)) return `${job} is not scheduled any more.`;
      const isNew = await queue.ask({ job, why: 'asked', dueAtMs: now() });
      schedulesAtMs = Number.NEGATIVE_INFINITY;
      return isNew ? undefined : `${job} is running or asked for already.`;
    });
  }

  return {
    read: async () => {
      if (now() - schedulesAtMs > SCHEDULES_EVERY_MS) {
        schedules = await readSchedules();
        schedulesAtMs = now();
      }
      const [{ runs, trouble }, { workers, lists }, backlog] = await Promise.all([
        readStates(),
        readWorkers(client),
        readBacklog(client, lookups),
      ]);
      const workerStates = workers.map((worker) => toWorkerState(worker, lists));
      return { runs, workers: workerStates, schedules, backlog, trouble };
    },
    ask: async (id, action) => {
      const run = (await readStates()).runs.find((each) => each.id === id);
      if (!run) return 'There is no such run any more.';
      if (!run.actions.includes(action)) return 'This cannot be done now.';
      if (run.phase === 'ended') return run.schedule && (await runNow(run.schedule));
      await askRun(client, id, action);
      return undefined;
    },
    runNow: (group, job) => runNow({ group, job }),
    steerBackfills: async (action) => {
      await (action === 'pause' ? pauseBackfills(client) : resumeBackfills(client));
      return undefined;
    },
  };
}

function describeUnreadable(runs: number): string {
  const [which, whose] =
    runs === 1 ? ['1 run is', 'its state'] : [`${runs} runs are`, 'their state'];
  return `${which} not shown: ${whose} cannot be read, perhaps because another version of Brandfill told it.`;
}

/** Offers a retry only for the latest of the runs of a scheduled job. */
function dropOldRetries(runs: readonly RunState[]): readonly RunState[] {
  return runs.map((run) => {
    const { schedule, phase, startedAtMs } = run;
    if (!schedule || phase !== 'ended' || run.actions.length === 0) return run;
    const isOld = runs.some(
      (other) =>
        other.startedAtMs > startedAtMs &&
        other.schedule?.job === schedule.job &&
        other.schedule.group === schedule.group,
    );
    return isOld ? { ...run, actions: [], next: undefined } : run;
  });
}

function toWorkerState(
  { holds, ...worker }: FoundWorker,
  lists: ReadonlyMap<string, string>,
): WorkerState {
  return {
    ...worker,
    holds: holds.map(({ runId, replyTo = '', ...load }) => ({
      ...load,
      of:
        runId === undefined
          ? `backfills (for the queue '${replyTo}')`
          : (lists.get(runId) ?? `run ${runId}`),
    })),
  };
}

function toScheduleState({ results, ...schedule }: ScheduledJob): ScheduleState {
  const [last] = results;
  if (!last) return schedule;
  const { finishedAt, exitCode, rows, found, failed, stopped, error } = last;
  const counts = `${rows ?? 0} rows, ${found ?? 0} found, ${failed ?? 0} failed`;
  const text = error ?? `${counts}${stopped === undefined ? '' : `; stopped early (${stopped})`}`;
  return { ...schedule, last: { finishedAt, exitCode, text: `exit code ${exitCode}, ${text}` } };
}

/** The fields that the page cannot do without. A later version may send more. */
const RUN_STATE = z.looseObject({
  list: z.string(),
  phase: z.enum(['reading', 'looking_up', 'saving_logos', 'stopping', 'writing', 'ended', 'lost']),
  isPaused: z.boolean(),
  isRetryWanted: z.boolean(),
  actions: z.array(z.enum(['pause', 'resume', 'stop', 'retry'])),
  host: z.string(),
  pid: z.number(),
  startedAtMs: z.number(),
  endedAtMs: z.number().optional(),
  plan: z.looseObject({ rows: z.number(), freshDomains: z.number() }).optional(),
  progress: z
    .looseObject({
      lookups: z.number(),
      done: z.number(),
      found: z.number(),
      notFound: z.number(),
      rejected: z.number(),
      failed: z.number(),
      pending: z.number().optional(),
      calls: z.number(),
      retries: z.number(),
      throttled: z.number(),
      billed: z.looseObject({ units: z.number(), unit: z.string() }).optional(),
      billedBy: z
        .array(z.looseObject({ name: z.string(), units: z.number(), unit: z.string() }))
        .optional(),
      elapsedMs: z.number(),
      ratePerSecond: z.number(),
      underWay: z.number(),
    })
    .optional(),
  logos: z
    .looseObject({ total: z.number(), saved: z.number(), kept: z.number(), missing: z.number() })
    .optional(),
  failures: z.array(z.looseObject({ domain: z.string(), reason: z.string() })),
  answers: z.array(z.looseObject({ domain: z.string(), text: z.string() })),
  notices: z.array(z.string()),
  end: z.array(z.string()).optional(),
  ending: z.enum(['done', 'some_failed', 'nothing_found', 'stopped', 'error']).optional(),
  next: z.string().optional(),
  schedule: z.looseObject({ group: z.string(), job: z.string() }).optional(),
  history: z.array(z.array(z.unknown())),
});

/**
 * Reads the state that a run has announced, under the id that it is known by.
 *
 * @param json from a process that may be of another version
 * @returns nothing where it cannot be read
 */
export function readRunState(id: string, json: string): RunState | undefined {
  try {
    const state = JSON.parse(json) as RunState;
    return RUN_STATE.safeParse(state).success ? { ...state, id } : undefined;
  } catch {
    return undefined;
  }
}

/** Longest time that an action may take. */
const ASK_MS = 5_000;

export interface PatientSourceOptions {
  /** The name of the Redis. */
  readonly name: string;
  /** Longest time that a reading may take. @default 3000 ms */
  readonly readMs?: number;
}

/**
 * Reports when Redis does not answer. Its client would wait for a connection for as long as it
 * takes, and the viewer would take an old state for the current one.
 */
export function withPatience(source: BoardSource, options: PatientSourceOptions): BoardSource {
  const { name, readMs = 3_000 } = options;
  let reading: Promise<Board> | undefined;

  async function ask(asking: Promise<string | undefined>): Promise<string | undefined> {
    try {
      return await inTime(ASK_MS, asking);
    } catch (error) {
      return error instanceof NoAnswerError
        ? `Redis at ${name} does not answer. What was asked may still be done when it does.`
        : `Redis at ${name}: ${reasonOf(error)}.`;
    }
  }

  return {
    read: async () => {
      // One reading at a time: those that wait for a connection would pile up.
      reading ??= source.read().finally(() => {
        reading = undefined;
      });
      try {
        return await inTime(readMs, reading);
      } catch (error) {
        const what =
          error instanceof NoAnswerError ? ' does not answer: ' : `: ${reasonOf(error)}; `;
        throw new Error(`Redis at ${name}${what}what is shown here is as it was before.`, {
          cause: error,
        });
      }
    },
    ask: (run, action) => ask(source.ask(run, action)),
    runNow: (group, job) => ask(source.runNow(group, job)),
    steerBackfills: (action) => ask(source.steerBackfills(action)),
  };
}
