import { randomUUID } from 'node:crypto';
import { DAY_MS } from '../common/format.ts';
import { within } from '../common/lifetime.ts';
import {
  type Budget,
  type CalendarWindow,
  type CallLedger,
  type CallsPer,
  createSharedBudget,
  joinBudgets,
  RUN_WINDOW,
  type TakenCalls,
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
 * Each process has a share of what is counted, and says how much it has of it: so a command that comes
 * twice, since its answer was lost, changes nothing, and a Redis that has lost a count has it again.
 *
 * KEYS: a hash. ARGV: the field of the sum and that of the share, the bound, how much the share has, how
 * much more is wanted, and how long the hash is kept, or 0: then it is one that must be there. Returns how
 * much the share has then. For a moment after a loss nothing more is given: others say first what they have.
 */
const COUNT = `
local sum, share, most, has, more, kept = unpack(ARGV)
local before = redis.call('HGET', KEYS[1], share)
if more == '0' and not before then return tonumber(has) end
if kept == '0' and redis.call('EXISTS', KEYS[1]) == 0 then return tonumber(has) end
if redis.call('EXISTS', KEYS[1] .. ':lost') == 1 then more = 0 end
local others = (redis.call('HGET', KEYS[1], sum) or 0) - (before or 0)
local now = math.max(has, math.min(has + more, most - others))
redis.call('HSET', KEYS[1], share, now, sum, others + now)
if kept ~= '0' then redis.call('PEXPIRE', KEYS[1], kept) end
return now
`;

interface Counted {
  /** Of the sum. */
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
  const share = `${field}:${randomUUID()}`;
  let mine = { id: '', has: 0 };
  let turn: Promise<unknown> = Promise.resolve();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = turn.then(work);
    turn = next.catch(() => {});
    return next;
  }

  async function take(wanted: number, signal: AbortSignal): Promise<TakenCalls> {
    const nowMs = await timeOf(client);
    signal.throwIfAborted();
    const window = counted.windowAt(nowMs);
    if (mine.id !== window.id) mine = { id: window.id, has: 0 };
    const { has } = mine;
    const kept = keptMs === undefined ? 0 : window.endsAtMs - nowMs + keptMs;
    const now = Number(await count([keyOf(window)], [field, share, most, has, wanted, kept]));
    return { calls: now - has, window, nowMs };
  }

  return {
    take: (wanted, signal) =>
      inTurn(async () => {
        const taken = await insist(() => take(wanted, signal), signal);
        mine.has += taken.calls;
        return taken;
      }),
    read: async () => {
      const window = counted.windowAt(await timeOf(client));
      return { taken: Number((await client.hget(keyOf(window), field)) ?? 0), window };
    },
    giveBack: (calls, window) =>
      inTurn(async () => {
        if (window.id !== mine.id) return;
        mine.has -= calls;
        if (isAway(client)) return; // it is said with what is taken next
        const giving = count([keyOf(window)], [field, share, most, mine.has, 0, 0]);
        await within(
          SHUTDOWN_TIMEOUT_MS,
          giving.then(() => {}),
        );
      }),
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
): Budget | undefined {
  const bounded = (field: 'calls' | 'micros', most: number, price: number): Budget =>
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
  const budgets: Budget[] = [];
  if (maxCalls !== undefined) budgets.push(bounded('calls', maxCalls, 1));
  if (maxCost) budgets.push(bounded('micros', maxCost.micros, maxCost.perCall));
  return budgets.length > 0 ? joinBudgets(budgets) : undefined;
}

/**
 * The key of the pace of one credential, for all workers of all runs.
 *
 * @param id a hash of credential and API that does not reveal the credential
 */
export function paceKey(id: string): string {
  return `${PREFIX}:gate:${id}`;
}
