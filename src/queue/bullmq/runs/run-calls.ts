import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '../../../brand/outcome.ts';
import { addCallsOf, type CallCounters, createCallCounters } from '../../../common/calls.ts';
import {
  type Budget,
  type CallLedger,
  createSharedBudget,
  isUsedUp,
  joinBudgets,
  type SharedBudget,
} from '../../../guard/budget.ts';
import type { Chunk } from '../../lookup-queue.ts';
import type { RunBounds } from '../contract.ts';
import { KEPT_MS, PREFIX, RETRY_MS } from '../names.ts';
import { createScript, type RedisClient } from '../server/redis.ts';
import { markPaused } from './pauses.ts';

/** The calls that a worker makes for runs. */
export interface CallsOfRuns {
  /**
   * Counts the calls for one chunk of a run.
   *
   * @param stated the bounds that the chunk states for the calls of all workers for its run. Those that the
   *   run has noted since take precedence: it may have been killed and started again with others
   */
  readonly of: (runId: string, stated: RunBounds) => Promise<CallsOfChunk>;
}

/** Calls that one worker makes for one chunk of a run. */
export interface CallsOfChunk extends Pick<Chunk, 'budget'> {
  /** The calls made for the chunk. */
  readonly counters: CallCounters;
  /** Counts the calls that outcomes report. */
  reported(outcomes: readonly Outcome[]): void;
  /** Returns and forgets what the run does not learn from outcomes. */
  readonly takeNote: () => CallNote | undefined;
  /**
   * Ends the count. If calls were refused, workers leave the run alone until it has seen that, unless it
   * has begun anew meanwhile.
   */
  close(): Promise<void>;
}

/**
 * Calls that no outcome reports: those of lookups under way, or given up, and those made while the API was
 * out. They are taken off again, as negative numbers, when outcomes report them.
 */
export interface CallNote extends CallCounters {
  /**
   * More calls were wanted than these bounds of the run allow, by the epochs of the counts: what a worker
   * has begun for a killed run says nothing of the bounds of the next one.
   */
  readonly usedUp?: Readonly<Record<string, UsedUpBound>>;
}

export type UsedUpBound = 'max_calls' | 'max_cost';

/**
 * KEYS: the calls of the run. ARGV: the epoch, which bound, the most calls, what each holds of the bound, the
 * bound if Redis has lost it, and how long to keep it then, in milliseconds. The fewer are left, the fewer are
 * taken at once, since others may need them.
 */
const TAKE = `
local key, name, price = KEYS[1], ARGV[2], tonumber(ARGV[4])
if redis.call('HSETNX', key, 'epoch', ARGV[1]) == 1 then redis.call('PEXPIRE', key, ARGV[6]) end
local epoch, max, taken = unpack(redis.call('HMGET', key, 'epoch', name, name .. ':taken'))
if epoch ~= ARGV[1] then return 0 end
local left = math.floor(((max or ARGV[5]) - (taken or 0)) / price)
local calls = math.min(left, math.max(1, math.min(ARGV[3], math.floor(left / 16))))
if calls <= 0 then return 0 end
local amount = string.format('%.0f', calls * price)
redis.call('HINCRBY', key, name .. ':taken', amount)
return amount
`;

/** KEYS: the calls of the run. ARGV: the epoch, which bound, how much is given back. */
const GIVE_BACK = `
if redis.call('HGET', KEYS[1], 'epoch') == ARGV[1] then
  redis.call('HINCRBY', KEYS[1], ARGV[2] .. ':taken', string.format('%.0f', -ARGV[3]))
end
`;

const MOST_PER_BLOCK = 32;
/** Stands for no bound. */
const UNBOUNDED = '';

/** A count of a run's calls. */
export interface RunCalls {
  /** Which bound a note finds used up, if it is of this count. */
  readonly usedUpBy: (note: CallNote) => UsedUpBound | undefined;
}

/** Starts the count of a run's calls anew. Calls that workers took before are of no use from now on. */
export async function beginCalls(
  client: RedisClient,
  runId: string,
  { maxCalls, maxCost }: RunBounds,
): Promise<RunCalls> {
  const key = callsKey(runId);
  const epoch = randomUUID();
  const bounds = {
    epoch,
    max_calls: maxCalls ?? UNBOUNDED,
    max_cost: maxCost?.micros ?? UNBOUNDED,
    per_call: maxCost?.perCall ?? UNBOUNDED,
  };
  await client.multi().del(key).hset(key, bounds).pexpire(key, KEPT_MS).exec();
  return { usedUpBy: ({ usedUp }) => usedUp?.[epoch] ?? usedUp?.[LOST_EPOCH] };
}

/** Removes the count. For use once no worker makes any calls for the run. */
export async function forgetCalls(client: RedisClient, runId: string): Promise<void> {
  await client.del(callsKey(runId));
}

/** One bound of a run, as its budget counts. */
interface Bound {
  readonly name: UsedUpBound;
  readonly max: number;
  /** What each call under way holds of it. */
  readonly price: number;
}

export function countCallsOfRuns(client: RedisClient): CallsOfRuns {
  const take = createScript(client, TAKE);
  const giveBack = createScript(client, GIVE_BACK);
  /** Budgets that chunks of this worker use, by run, epoch and bound. */
  const budgets = new Map<string, { readonly budget: SharedBudget; users: number }>();

  function openLedger(runId: string, epoch: string, { name, max, price }: Bound): CallLedger {
    const keys = [callsKey(runId)];
    const window = { id: epoch, endsAtMs: Number.POSITIVE_INFINITY };
    return {
      take: async (signal) => {
        for (;;) {
          try {
            const calls = await take(keys, [epoch, name, MOST_PER_BLOCK, price, max, KEPT_MS]);
            return { calls: Number(calls), window, nowMs: 0 };
          } catch {
            await delay(RETRY_MS, undefined, { signal }); // a call that cannot be counted is not made
          }
        }
      },
      read: async () => ({
        taken: Number(await client.hget(callsKey(runId), `${name}:taken`)),
        window,
      }),
      giveBack: async (calls) => void (await giveBack(keys, [epoch, name, calls])),
    };
  }

  function openBudget(runId: string, epoch: string, bound: Bound): OpenBudget {
    const { name, price } = bound;
    const key = `${runId} ${epoch} ${name}`;
    const known = budgets.get(key);
    const opened = known ?? {
      users: 0,
      budget: createSharedBudget({
        ledger: openLedger(runId, epoch, bound),
        now: () => 0, // it has no end
        usedUp: () => ({ reason: name }),
        price,
        // A call that was given up may be billed.
        ...(name === 'max_cost' && { costOf: (costMicros = price) => costMicros }),
      }),
    };
    if (!known) budgets.set(key, opened);
    opened.users += 1;
    return {
      budget: opened.budget,
      close: async (): Promise<void> => {
        opened.users -= 1;
        if (opened.users > 0) return;
        budgets.delete(key);
        await opened.budget.close();
      },
    };
  }

  return {
    of: async (runId, stated) => {
      const noted = await client.hmget(callsKey(runId), 'epoch', ...NOTED);
      const epoch = noted[0] ?? LOST_EPOCH;
      const opened = boundsOf(noted.slice(1), stated).map((bound) =>
        openBudget(runId, epoch, bound),
      );
      const [first, second] = opened.map(({ budget }) => budget);
      const budget = first && second ? joinBudgets(first, second) : first;
      const isCurrent = async (): Promise<boolean> =>
        (await client.hget(callsKey(runId), 'epoch')) === epoch;
      return countCallsOfChunk(budget, epoch, async (isUsedUpByNow) => {
        if (isUsedUpByNow && (await isCurrent())) await markPaused(client, runId);
        await Promise.all(opened.map(({ close }) => close()));
      });
    },
  };
}

interface OpenBudget {
  readonly budget: Budget;
  readonly close: () => Promise<void>;
}

const NOTED = ['max_calls', 'max_cost', 'per_call'] as const;

/** The bounds that a run has noted. A Redis that has lost everything has lost them too. */
function boundsOf(
  noted: readonly (string | null)[],
  { maxCalls, maxCost }: RunBounds,
): readonly Bound[] {
  const stated = [maxCalls, maxCost?.micros, maxCost?.perCall];
  const [calls, cost, perCall] = stated.map((value, at) => {
    const text = noted[at] ?? value;
    return text === undefined || text === UNBOUNDED ? undefined : Number(text);
  });
  return [
    ...(calls === undefined ? [] : [{ name: 'max_calls', max: calls, price: 1 } as const]),
    ...(cost === undefined || !perCall
      ? []
      : [{ name: 'max_cost', max: cost, price: perCall } as const]),
  ];
}

/** The same for all workers. */
const LOST_EPOCH = 'lost';

function countCallsOfChunk(
  budget: Budget | undefined,
  epoch: string,
  close: (isUsedUp: boolean) => Promise<void>,
): CallsOfChunk {
  const made = createCallCounters();
  const known = createCallCounters();
  let usedUp: UsedUpBound | undefined;
  let isUsedUpNoted = false;
  return {
    budget: budget && {
      tryAcquire: () => budget.tryAcquire(),
      acquire: async (signal) => {
        const acquired = await budget.acquire(signal);
        if (isUsedUp(acquired)) usedUp ??= acquired.reason as UsedUpBound;
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
      const isNews = usedUp !== undefined && !isUsedUpNoted;
      isUsedUpNoted ||= isNews;
      if (usedUp && isNews) return { ...note, usedUp: { [epoch]: usedUp } };
      return Object.values(note).some((count) => count !== 0) ? note : undefined;
    },
    close: () => close(usedUp !== undefined),
  };
}

/** The key with the bound of a run's calls and those taken. */
function callsKey(runId: string): string {
  return `${PREFIX}:run-calls:${runId}`;
}
