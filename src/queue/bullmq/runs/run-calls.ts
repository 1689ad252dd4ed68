import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '../../../brand/outcome.ts';
import { addCallsOf, type CallCounters, createCallCounters } from '../../../common/calls.ts';
import {
  type Budget,
  type CallLedger,
  createSharedBudget,
  isUsedUp,
  type SharedBudget,
} from '../../../guard/budget.ts';
import type { Chunk } from '../../lookup-queue.ts';
import { KEPT_MS, PREFIX, RETRY_MS } from '../names.ts';
import { createScript, type RedisClient } from '../server/redis.ts';
import { markPaused } from './pauses.ts';

/** The calls that a worker makes for runs. */
export interface CallsOfRuns {
  /**
   * Counts the calls for one chunk of a run.
   *
   * @param maxCalls the bound that the chunk states for the calls of all workers for its run. A bound that
   *   the run has noted since takes precedence: it may have been killed and started again with another one
   */
  readonly of: (runId: string, maxCalls: number | undefined) => Promise<CallsOfChunk>;
}

/** Calls that one worker makes for one chunk of a run. */
export interface CallsOfChunk extends Pick<Chunk, 'budget'> {
  /** The calls made for the chunk. */
  readonly counters: CallCounters;
  /** Counts the calls that outcomes report. */
  reported(outcomes: readonly Outcome[]): void;
  /** Returns and forgets what the run does not learn from outcomes. */
  readonly takeNote: () => CallNote | undefined;
  /** Ends the count. If calls were refused, workers leave the run alone until it has seen that. */
  close(): Promise<void>;
}

/**
 * Calls that no outcome reports: those of lookups under way, or given up, and those made while the API was
 * out. They are taken off again, as negative numbers, when outcomes report them.
 */
export interface CallNote extends CallCounters {
  /** More calls were wanted than the run may make. */
  readonly isUsedUp?: boolean;
}

/**
 * KEYS: the calls of the run. ARGV: the epoch, the most calls, the bound if Redis has lost it, and how long to
 * keep it then, in milliseconds. The fewer are left, the fewer are taken at once, since others may need them.
 */
const TAKE = `
if redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1]) == 1 then
  redis.call('HSET', KEYS[1], 'max', ARGV[3])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
end
local epoch, max, taken = unpack(redis.call('HMGET', KEYS[1], 'epoch', 'max', 'taken'))
if epoch ~= ARGV[1] then return 0 end
local left = max - (taken or 0)
local calls = math.min(left, math.max(1, math.min(ARGV[2], math.floor(left / 16))))
if calls <= 0 then return 0 end
redis.call('HINCRBY', KEYS[1], 'taken', calls)
return calls
`;

/** KEYS: the calls of the run. ARGV: the epoch, how many are given back. */
const GIVE_BACK = `
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
  redis.call('HINCRBY', KEYS[1], 'taken', -ARGV[2])
end
`;

const MOST_PER_BLOCK = 32;
/** Stands for no bound. */
const UNBOUNDED = '';

/** Starts the count of a run's calls anew. Calls that workers took before are of no use from now on. */
export async function beginCalls(
  client: RedisClient,
  runId: string,
  maxCalls: number | undefined,
): Promise<void> {
  const key = callsKey(runId);
  await client
    .multi()
    .del(key)
    .hset(key, 'epoch', randomUUID(), 'max', maxCalls ?? UNBOUNDED)
    .pexpire(key, KEPT_MS)
    .exec();
}

/** Removes the count. For use once no worker makes any calls for the run. */
export async function forgetCalls(client: RedisClient, runId: string): Promise<void> {
  await client.del(callsKey(runId));
}

export function countCallsOfRuns(client: RedisClient): CallsOfRuns {
  const take = createScript(client, TAKE);
  const giveBack = createScript(client, GIVE_BACK);
  /** Budgets that chunks of this worker use, by run and epoch. */
  const budgets = new Map<string, { readonly budget: SharedBudget; users: number }>();

  function openLedger(runId: string, epoch: string, max: number): CallLedger {
    const keys = [callsKey(runId)];
    const window = { id: epoch, endsAtMs: Number.POSITIVE_INFINITY };
    return {
      take: async (signal) => {
        for (;;) {
          try {
            const calls = await take(keys, [epoch, MOST_PER_BLOCK, max, KEPT_MS]);
            return { calls: Number(calls), window, nowMs: 0 };
          } catch {
            await delay(RETRY_MS, undefined, { signal }); // a call that cannot be counted is not made
          }
        }
      },
      read: async () => ({ taken: Number(await client.hget(callsKey(runId), 'taken')), window }),
      giveBack: async (calls) => void (await giveBack(keys, [epoch, calls])),
    };
  }

  function openBudget(runId: string, epoch: string, max: number) {
    const name = `${runId} ${epoch}`;
    const known = budgets.get(name);
    const opened = known ?? {
      users: 0,
      budget: createSharedBudget({
        ledger: openLedger(runId, epoch, max),
        now: () => 0, // it has no end
        usedUp: () => ({ reason: 'max_calls' }),
      }),
    };
    if (!known) budgets.set(name, opened);
    opened.users += 1;
    return {
      budget: opened.budget,
      close: async (): Promise<void> => {
        opened.users -= 1;
        if (opened.users > 0) return;
        budgets.delete(name);
        await opened.budget.close();
      },
    };
  }

  return {
    of: async (runId, maxCalls) => {
      const [epoch, noted] = await client.hmget(callsKey(runId), 'epoch', 'max');
      // A Redis that has lost everything has lost the bound too.
      const max = noted === UNBOUNDED ? undefined : Number(noted ?? maxCalls ?? Number.NaN);
      const isBounded = max !== undefined && !Number.isNaN(max);
      const opened = isBounded ? openBudget(runId, epoch ?? LOST_EPOCH, max) : undefined;
      return countCallsOfChunk(opened?.budget, async (isUsedUpByNow) => {
        if (isUsedUpByNow) await markPaused(client, runId);
        await opened?.close();
      });
    },
  };
}

/** The same for all workers. */
const LOST_EPOCH = 'lost';

function countCallsOfChunk(
  budget: Budget | undefined,
  close: (isUsedUp: boolean) => Promise<void>,
): CallsOfChunk {
  const made = createCallCounters();
  const known = createCallCounters();
  let wasUsedUp = false;
  let isUsedUpNoted = false;
  return {
    budget: budget && {
      tryAcquire: () => budget.tryAcquire(),
      acquire: async (signal) => {
        const acquired = await budget.acquire(signal);
        if (isUsedUp(acquired)) wasUsedUp = true;
        return acquired;
      },
    },
    counters: made,
    reported: (outcomes) => {
      for (const outcome of outcomes) addCallsOf(outcome, known);
    },
    takeNote: () => {
      const note = {
        calls: made.calls - known.calls,
        retries: made.retries - known.retries,
        throttled: made.throttled - known.throttled,
        billedMicros: made.billedMicros - known.billedMicros,
      };
      Object.assign(known, made);
      const isNews = wasUsedUp && !isUsedUpNoted;
      isUsedUpNoted ||= isNews;
      if (isNews) return { ...note, isUsedUp: true };
      return Object.values(note).some((count) => count !== 0) ? note : undefined;
    },
    close: () => close(wasUsedUp),
  };
}

/** The key with the bound of a run's calls and those taken. */
function callsKey(runId: string): string {
  return `${PREFIX}:run-calls:${runId}`;
}
