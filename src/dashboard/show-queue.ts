import {
  askRun,
  findGroups,
  findKeepers,
  openScheduleQueue,
  openScheduleResults,
  readRuns,
  readWorkers,
} from '../queue/bullmq/index.ts';
import type { FoundWorker } from '../queue/bullmq/presence.ts';
import type { RedisServer } from '../queue/bullmq/redis.ts';
import type { AnnouncedRun } from '../queue/bullmq/run-board.ts';
import { listGroup, type ScheduledJob } from '../schedule/list-schedules.ts';
import type { BoardSource, RunState, ScheduleState, WorkerState } from './board.ts';

export interface ShowQueueOptions {
  readonly redis: RedisServer;
  readonly now?: () => number;
}

/** A run tells how it stands once a second; one that was silent for so long is gone. */
const LOST_MS = 15_000;
/** Schedules change seldom, and cost more to read. */
const SCHEDULES_EVERY_MS = 3_000;

/** What all runs, workers and schedules on a Redis tell of themselves. */
export function showQueue({ redis, now = Date.now }: ShowQueueOptions): BoardSource {
  const { client } = redis;
  let schedules: readonly ScheduleState[] = [];
  let schedulesAtMs = Number.NEGATIVE_INFINITY;
  const states = new Map<string, { readonly json: string; readonly state: RunState }>();

  async function readSchedules(): Promise<readonly ScheduleState[]> {
    const listed: ScheduledJob[] = [];
    for (const group of await findGroups(client)) {
      const queue = openScheduleQueue(client, group);
      const results = openScheduleResults(client, group);
      const isKept = (await findKeepers(client, group)).length > 0;
      listed.push(...(await listGroup({ group, queue, results, isKept })));
      await queue.close();
    }
    return listed.map(toScheduleState);
  }

  /** Parsed once for each change: most runs are over and stay as they are. */
  function stateOf({ id, state: json, silentMs }: AnnouncedRun): RunState {
    const known = states.get(id);
    const state = known?.json === json ? known.state : (JSON.parse(json) as RunState);
    states.set(id, { json, state });
    const isLost = state.phase !== 'ended' && silentMs > LOST_MS;
    return isLost ? { ...state, phase: 'lost', actions: [], isPaused: false } : state;
  }

  async function readStates(): Promise<readonly RunState[]> {
    const runs = (await readRuns(client)).map(stateOf);
    const there = new Set(runs.map(({ id }) => id));
    for (const id of states.keys()) if (!there.has(id)) states.delete(id);
    return runs;
  }

  return {
    read: async () => {
      if (now() - schedulesAtMs > SCHEDULES_EVERY_MS) {
        schedules = await readSchedules();
        schedulesAtMs = now();
      }
      const [runs, { workers, lists }] = await Promise.all([readStates(), readWorkers(client)]);
      return { runs, workers: workers.map((worker) => toWorkerState(worker, lists)), schedules };
    },
    ask: async (id, action) => {
      const run = (await readStates()).find((each) => each.id === id);
      if (!run) return 'There is no such run any more.';
      if (!run.actions.includes(action)) return 'This cannot be done now.';
      await askRun(client, id, action);
      return undefined;
    },
    runNow: async (group, job) => {
      const queue = openScheduleQueue(client, group);
      try {
        if (!(await queue.read()).has(job)) return `${job} is not scheduled any more.`;
        const isNew = await queue.ask({ job, why: 'asked', dueAtMs: now() });
        schedulesAtMs = Number.NEGATIVE_INFINITY;
        return isNew ? undefined : `${job} is running or asked for already.`;
      } finally {
        await queue.close();
      }
    },
  };
}

function toWorkerState(
  { holds, ...worker }: FoundWorker,
  lists: ReadonlyMap<string, string>,
): WorkerState {
  return {
    ...worker,
    holds: holds.map(({ runId, replyTo = '', ...load }) => ({
      ...load,
      of: runId === undefined ? `the queue ${replyTo}` : (lists.get(runId) ?? `run ${runId}`),
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
