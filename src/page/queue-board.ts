import { inTime, NoAnswerError } from '../common/lifetime.ts';
import {
  askRun,
  createQueueReader,
  openSchedules,
  readRuns,
  readShownWorkers,
  takeFailedAgain,
} from '../queue/index.ts';
import { ABSENT_MS } from '../queue/names.ts';
import { parsed, type RedisServer } from '../queue/redis.ts';
import { reasonOf } from '../queue/redis-errors.ts';
import { tryWriting } from '../queue/try-redis.ts';
import { type RunView, VIEW_VERSION } from '../watch/run-view.ts';
import { type Board, type BoardSource, EMPTY_BOARD, GONE, isOver, lost } from './board.ts';

/** Schedules seldom change, and cost more to read. */
const SCHEDULES_EVERY_MS = 3_000;
/** Longest time that a reading may take: somebody is waiting. */
const READ_MS = 1_500;
/** Longest time that an action may take. */
const ASK_MS = 5_000;

/**
 * Shows what all runs, workers and schedules on a Redis announce. Nothing else reads it for the
 * page.
 */
export function showQueue(redis: RedisServer): BoardSource {
  const { client, name } = redis;
  const kept = openSchedules(client);
  const readQueues = createQueueReader(redis);
  let schedules: Board['schedules'] = [];
  let schedulesAtMs = Number.NEGATIVE_INFINITY;
  let reading: Promise<Board> | undefined;
  let latest = EMPTY_BOARD;

  async function readAll(): Promise<Board> {
    // Else runs and workers would look lost, which cannot say that they are there.
    await tryWriting(client);
    if (performance.now() - schedulesAtMs > SCHEDULES_EVERY_MS) {
      schedules = await kept.list();
      schedulesAtMs = performance.now();
    }
    const [announced, workers, { queues = [] } = {}] = await Promise.all([
      readRuns(client),
      readShownWorkers(client),
      readQueues(),
    ]);
    const runs = announced.flatMap(({ id, state, silentMs }) => readView(id, state, silentMs));
    const unreadable = announced.length - runs.length;
    return {
      runs: runs.toSorted(inOrder),
      workers,
      queues: queues.filter(({ queue, jobs, uncollected, isPaused }) => {
        const isServed = workers.some((worker) => worker.queue === queue);
        return (
          isServed ||
          isPaused ||
          Object.values(jobs).reduce((sum, count) => sum + count, uncollected) > 0
        );
      }),
      schedules,
      trouble:
        unreadable === 0
          ? undefined
          : `${unreadable} of the runs cannot be shown: perhaps another version of Brandfill makes them.`,
    };
  }

  async function askOf(
    id: string,
    action: RunView['actions'][number],
  ): Promise<string | undefined> {
    const { runs } = await readAll();
    const run = runs.find(({ runId }) => runId === id);
    if (!run) return GONE;
    if (!run.actions.includes(action)) return 'This cannot be done now.';
    await askRun(client, id, action);
    return undefined;
  }

  /** @returns why it cannot be done */
  async function orRefused<T>(asked: Promise<T>): Promise<T | string> {
    try {
      // The client of Redis waits for a connection for as long as it takes; people do not.
      return await inTime(ASK_MS, asked);
    } catch (error) {
      return error instanceof NoAnswerError
        ? `Redis at ${name} does not answer. What was asked may still be done when it does.`
        : `Redis at ${name}: ${reasonOf(error)}.`;
    }
  }

  return {
    read: async () => {
      // One reading at a time: those that wait for a connection would pile up.
      reading ??= readAll().finally(() => {
        reading = undefined;
      });
      try {
        latest = await inTime(READ_MS, reading);
      } catch (error) {
        const why = error instanceof NoAnswerError ? 'does not answer' : reasonOf(error);
        return {
          ...latest,
          trouble: `Redis at ${name}: ${why}. What is shown is as it was before.`,
        };
      }
      return latest;
    },
    ask: (id, action) => orRefused(askOf(id, action)),
    takeFailedAgain: (queue) => orRefused(takeFailedAgain(redis, queue).then(() => undefined)),
  };
}

/** Runs that go on before those that are over, and the latest first. */
function inOrder(one: RunView, other: RunView): number {
  const over = Number(isOver(one)) - Number(isOver(other));
  if (over !== 0) return over;
  const timeOf = ({ endedAt, startedAt }: RunView): string => endedAt ?? startedAt;
  return timeOf(other).localeCompare(timeOf(one));
}

/** @param json from a process that may be of another version */
function readView(id: string, json: string, silentMs: number): readonly RunView[] {
  const read = parsed(json) as RunView | undefined;
  if (read?.version !== VIEW_VERSION) return [];
  const view = { ...read, runId: id };
  return [isOver(view) || silentMs <= ABSENT_MS ? view : lost(view)];
}
