import { DAY_MS } from '../common/format.ts';
import { within } from '../common/lifetime.ts';
import {
  type CalendarWindow,
  type CallLedger,
  type CallsPer,
  createSharedBudget,
  joinBudgets,
  RUN_WINDOW,
  type SharedBudget,
  windowAt,
} from '../worker/budget.ts';
import type { Rate } from '../worker/rate.ts';
import { PREFIX, runKey, SHUTDOWN_TIMEOUT_MS } from './names.ts';
import { createScript, isAway, type RedisServer, timeOf } from './redis.ts';

/** What all workers may do for a run together. */
export interface RunBounds {
  /** How many calls. @default no bound */
  readonly maxCalls?: number | undefined;
  /** What they may cost. @default no bound */
  readonly maxCost?: CostBound | undefined;
  /** How fast. @default no bound */
  readonly rate?: Rate | undefined;
}

/** The bounds of a start of a run, as its hash has them. */
export interface StartedRun extends RunBounds {
  /** Unique among the starts of the run, and in the ids of its jobs. */
  readonly started: string;
}

/** In millionths of the unit that the API bills in. */
export interface CostBound {
  readonly micros: number;
  /** What each call under way may cost. */
  readonly perCall: number;
}

/**
 * KEYS: a hash. ARGV: its field, the bound, how much is taken (or, below 0, given back), and how long the
 * hash is kept, or 0: then it is one that must be there. Returns how much was taken.
 */
const COUNT = `
if ARGV[4] == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local taken = tonumber(ARGV[3])
if taken > 0 then
  taken = math.max(0, math.min(taken, ARGV[2] - (redis.call('HGET', KEYS[1], ARGV[1]) or 0)))
end
if taken ~= 0 then redis.call('HINCRBY', KEYS[1], ARGV[1], taken) end
if ARGV[4] ~= '0' then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
return taken
`;

interface Counted {
  readonly field: string;
  readonly most: number;
  readonly keyOf: (window: CalendarWindow) => string;
  /** By the clock of Redis, so that all agree when a window is over. */
  readonly windowAt: (nowMs: number) => CalendarWindow;
  /** How long the count is kept after the end of its window, in milliseconds. @default as its hash is */
  readonly keptMs?: number;
}

/** Counts what all workers take, in a hash of Redis. While Redis cannot be reached, no call is made. */
function createLedger({ client, insist }: RedisServer, counted: Counted): CallLedger {
  const { field, most, keyOf, keptMs } = counted;
  const count = createScript(client, COUNT);
  return {
    take: (wanted, signal) => {
      const take = async () => {
        const nowMs = await timeOf(client);
        const window = counted.windowAt(nowMs);
        const kept = keptMs === undefined ? 0 : window.endsAtMs - nowMs + keptMs;
        const calls = Number(await count([keyOf(window)], [field, most, wanted, kept]));
        return { calls, window, nowMs };
      };
      return insist(take, signal);
    },
    read: async () => {
      const window = counted.windowAt(await timeOf(client));
      return { taken: Number((await client.hget(keyOf(window), field)) ?? 0), window };
    },
    giveBack: async (calls, window) => {
      if (isAway(client)) return;
      const giving = count([keyOf(window)], [field, most, -calls, 0]);
      await within(
        SHUTDOWN_TIMEOUT_MS,
        giving.then(() => {}),
      );
    },
  };
}

export interface SharedCallLedgerOptions {
  /** A hash of credential and API that does not reveal the credential. */
  readonly id: string;
  readonly limit: CallsPer;
}

/** Counts the calls of one credential, for all workers of all runs. */
export function createSharedCallLedger(
  redis: RedisServer,
  { id, limit }: SharedCallLedgerOptions,
): CallLedger {
  return createLedger(redis, {
    field: 'taken',
    most: limit.count,
    // Not `calls`, which was a text once.
    keyOf: (window) => `${PREFIX}:taken:${id}:${limit.unit}:${window.id}`,
    windowAt: (nowMs) => windowAt(limit.unit, nowMs),
    keptMs: DAY_MS, // so that people can look at it
  });
}

/** What all workers may still do for a run, counted in its hash; undefined without bounds. */
export function createRunBudget(
  redis: RedisServer,
  run: string,
  { maxCalls, maxCost }: RunBounds,
): SharedBudget | undefined {
  const bounded = (field: 'calls' | 'micros', most: number, price: number): SharedBudget =>
    createSharedBudget({
      ledger: createLedger(redis, {
        field,
        most,
        keyOf: () => runKey(run),
        windowAt: () => RUN_WINDOW,
      }),
      now: Date.now,
      usedUp: () => ({ reason: field === 'calls' ? 'max_calls' : 'max_cost' }),
      price,
      costOf: (micros = price) => (field === 'calls' ? price : micros),
    });
  const calls = maxCalls === undefined ? undefined : bounded('calls', maxCalls, 1);
  const cost = maxCost && bounded('micros', maxCost.micros, maxCost.perCall);
  if (!calls || !cost) return calls ?? cost;
  return {
    ...joinBudgets([calls, cost]),
    close: async () => {
      await Promise.all([calls.close(), cost.close()]);
    },
  };
}

/**
 * The key of the pace of one credential, for all workers of all runs.
 *
 * @param id a hash of credential and API that does not reveal the credential
 */
export function paceKey(id: string): string {
  return `${PREFIX}:gate:${id}`;
}
