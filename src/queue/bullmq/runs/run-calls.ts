import type { Outcome } from '../../../brand/outcome.ts';
import {
  addCallsOf,
  type CallCounters,
  createCallCounters,
} from '../../../common/call-counters.ts';
import type { CallAllowance, Chunk } from '../../lookup-queue.ts';
import { KEPT_MS as CHUNKS_KEPT_MS, PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { markPaused } from './paused-runs.ts';

/** Calls that one worker makes for one chunk of a run. */
export interface RunCalls extends Required<Pick<Chunk, 'allowance' | 'counters'>> {
  /** Takes note of outcomes, which tell of the calls that they took. */
  told(outcomes: readonly Outcome[]): void;
  /**
   * Notes for the run the calls that no outcome tells of: those of a lookup that was given up, and those
   * that found the API out. If calls were refused, workers leave the run alone until it has seen that.
   */
  settle(): Promise<void>;
}

/** KEYS: calls taken. Those of a run that is over are counted no more, and a count that began anew would stay. */
const GIVE_BACK = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end
`;

/** For as long counts are kept that nobody removes. */
const KEPT_MS = 24 * 60 * 60_000;

/**
 * @param maxCalls what a chunk says of how many calls all workers may make for its run together. What the run has
 * noted since takes precedence: it may have been killed, and started again with another bound.
 */
export async function countCallsOfRun(
  client: RedisClient,
  runId: string,
  maxCalls: number | undefined,
): Promise<RunCalls> {
  const made = createCallCounters();
  const told = createCallCounters();
  const most = (await findBound(client, runId)) ?? maxCalls ?? Infinity;
  const bound = most === Infinity ? undefined : allowCalls(client, runId, most);

  async function noteUntold(): Promise<void> {
    const untold = Object.entries(made)
      .map(([name, count]) => [name, count - told[name as keyof CallCounters]] as const)
      .filter(([, count]) => count !== 0);
    if (untold.length === 0) return;
    const notes = client.multi();
    for (const [name, count] of untold) notes.hincrby(untoldKey(runId), name, count);
    await notes.pexpire(untoldKey(runId), KEPT_MS).exec();
  }

  return {
    allowance: bound?.allowance,
    counters: made,
    told: (outcomes) => {
      for (const outcome of outcomes) addCallsOf(outcome, told);
    },
    settle: async () => {
      await noteUntold().catch(() => {}); // the run tells of fewer calls, and goes on
      if (bound?.isUsedUp) await markPaused(client, runId);
    },
  };
}

/** A Redis that has lost everything has lost what a run noted, too. */
async function findBound(client: RedisClient, runId: string): Promise<number | undefined> {
  const noted = await client.get(boundKey(runId));
  return noted === null ? undefined : Number(noted);
}

/** Begins to count anew the calls that may be made for a run. */
export async function boundCallsOfRun(
  client: RedisClient,
  runId: string,
  maxCalls: number | undefined,
): Promise<void> {
  await client
    .multi()
    .del(takenKey(runId))
    .set(boundKey(runId), maxCalls ?? Infinity, 'PX', CHUNKS_KEPT_MS)
    .exec();
}

/** Calls that all workers may make for one run. What was refused is counted too: it says that they are used up. */
function allowCalls(
  client: RedisClient,
  runId: string,
  maxCalls: number,
): { readonly allowance: CallAllowance; readonly isUsedUp: boolean } {
  const key = takenKey(runId);
  let isUsedUp = false;
  return {
    get isUsedUp() {
      return isUsedUp;
    },
    allowance: {
      take: async () => {
        try {
          const [[, count] = []] =
            (await client.multi().incr(key).pexpire(key, KEPT_MS).exec()) ?? [];
          isUsedUp ||= Number(count) > maxCalls;
          return Number(count) <= maxCalls;
        } catch {
          return false; // a call that cannot be counted is not made
        }
      },
      giveBack: () => {
        client.eval(GIVE_BACK, 1, key).catch(() => {}); // one call less than might be made
      },
    },
  };
}

/** Where calls are counted that were taken from those that a run may make. */
export function takenKey(runId: string): string {
  return `${PREFIX}:run-calls:${runId}`;
}

/** Where it is noted how many calls may be made for a run. */
export function boundKey(runId: string): string {
  return `${PREFIX}:run-max-calls:${runId}`;
}

/** Where calls of a run are counted that no outcome tells of, by what they were. */
export function untoldKey(runId: string): string {
  return `${PREFIX}:run-untold-calls:${runId}`;
}
