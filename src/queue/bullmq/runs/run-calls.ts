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
  /** Counts the calls that outcomes report. */
  told(outcomes: readonly Outcome[]): void;
  /**
   * Returns and forgets the calls that no outcome reports: those of lookups under way, or given up, and
   * those made while the API was out. They are taken off again when outcomes report them.
   */
  takeUnreported(): CallCounters | undefined;
  /**
   * If calls were refused, makes workers leave the run alone until it has seen that. To be called when the
   * chunk is done.
   */
  settle(): Promise<void>;
}

/** KEYS: the calls taken. After its run is over, the count is gone, and must not begin anew. */
const GIVE_BACK = `
if redis.call('EXISTS', KEYS[1]) == 1 then redis.call('DECR', KEYS[1]) end
`;

/** How long counts are kept if they are not removed. */
const KEPT_MS = 24 * 60 * 60_000;

/**
 * @param maxCalls the bound that a chunk states for the calls of all workers for its run. A bound
 *   that the run has noted since takes precedence: the run may have been killed and started again
 *   with another one.
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

  return {
    allowance: bound?.allowance,
    counters: made,
    told: (outcomes) => {
      for (const outcome of outcomes) addCallsOf(outcome, told);
    },
    takeUnreported: () => {
      const { calls, retries, throttled } = made;
      const unreported = {
        calls: calls - told.calls,
        retries: retries - told.retries,
        throttled: throttled - told.throttled,
      };
      Object.assign(told, made);
      return Object.values(unreported).some((count) => count !== 0) ? unreported : undefined;
    },
    settle: async () => {
      if (bound?.isUsedUp) await markPaused(client, runId);
    },
  };
}

/** The bound that the run noted. A Redis that has lost everything has lost it too. */
async function findBound(client: RedisClient, runId: string): Promise<number | undefined> {
  const noted = await client.get(boundKey(runId));
  return noted === null ? undefined : Number(noted);
}

/** Starts the count of calls for a run anew. */
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

/**
 * The calls that all workers may make for one run. Refused calls are counted too, which shows that
 * the bound is reached.
 */
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
        client.eval(GIVE_BACK, 1, key).catch(() => {}); // on failure, one call less than allowed is made
      },
    },
  };
}

/** The key that counts calls taken from those that a run may make. */
export function takenKey(runId: string): string {
  return `${PREFIX}:run-calls:${runId}`;
}

/** The key with the number of calls that a run may make. */
export function boundKey(runId: string): string {
  return `${PREFIX}:run-max-calls:${runId}`;
}
