import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Budget,
  type CalendarWindow,
  type CallLedger,
  type CallsPer,
  type Counting,
  createRunBudget,
  joinBudgets,
  type Permit,
  RUN_WINDOW,
  type RunBound,
  type Taken,
  windowAt,
} from '../calls/budget.ts';
import { type CallCounters, type CallsMade, createCallCounters } from '../calls/outcome.ts';
import type { Rate } from '../calls/rate.ts';
import { DAY_MS } from '../common/format.ts';
import { createMutex, within } from '../common/lifetime.ts';
import { ALLOW_MS, GOODBYE_MS, PREFIX, runKey } from './names.ts';
import { createScript, isAway, type RedisServer, timeOf } from './redis.ts';

/** What all workers may do for a start of a run together, as its hash has it. */
export interface StartedRun {
  /** Unique among the starts of the run, and in the ids of its jobs. */
  readonly started: string;
  readonly bounds: readonly RunBound[];
  /** What of a call counts. */
  readonly counting: Counting;
  /** How fast. @default no bound */
  readonly rate?: Rate | undefined;
}

/**
 * Each process has a share of what is counted, and says how much it has of it: so a command that
 * comes twice, since its answer was lost, changes nothing, and a Redis that has lost a count has it
 * again.
 *
 * KEYS: a hash, and that of the next window, in which calls were counted if the clock has gone
 * back. ARGV: the field of the sum and that of the share; how much there may be, or nothing where
 * the hash says it; how much the share has; for how many domains more is wanted; how long the hash
 * is kept, or 0: then it is one that must be there; and what a domain is known to count, or
 * nothing. Returns how much the share has then, what a domain counts, and how much there may be.
 * For a moment after a loss nothing more is given: others say first what they have.
 */
const COUNT = `
local sum, share, most, has, domains, kept, each = unpack(ARGV)
local before = redis.call('HGET', KEYS[1], share)
local isGone = kept == '0' and redis.call('EXISTS', KEYS[1]) == 0
if isGone or (domains == '0' and has == '0' and not before) then return { tonumber(has), each, -1 } end
local allowed = tonumber(most) or tonumber(redis.call('HGET', KEYS[1], sum .. ':allowed') or 0)
local known = redis.call('HGET', KEYS[1], sum .. ':each')
if known and (tonumber(known) > (tonumber(each) or 0)) then each = known end
if each ~= '' then redis.call('HSET', KEYS[1], sum .. ':each', each) end
local others = (redis.call('HGET', KEYS[1], sum) or 0) - (before or 0)
local left = allowed - others - (KEYS[2] and redis.call('HGET', KEYS[2], sum) or 0)
local wanted = tonumber(has)
if domains ~= '0' and redis.call('HGET', KEYS[1], 'lost') ~= '1' then
  wanted = each == '' and left or has + domains * each
end
local now = math.max(has, math.min(wanted, left))
redis.call('HSET', KEYS[1], share, now, sum, others + now)
if kept ~= '0' then redis.call('PEXPIRE', KEYS[1], kept) end
return { now, each, allowed }
`;

/**
 * What is counted: a field with the sum, how much there may be in the end, and what a domain
 * counts.
 */
interface Counted extends Pick<RunBound, 'most' | 'each'> {
  readonly field: string;
  /** The hash of a window. */
  readonly keyOf: (window: CalendarWindow) => string;
  /**
   * Of the calendar.
   *
   * @default one window without end, of which the hash says how much of `most` is allowed by now
   */
  readonly per?: CallsPer;
}

/** A run that was killed allows no more: its workers do not wait longer. */
const MOST_ASKS = 15;
/** The windows of which a process knows what it has, for a clock that goes back. */
const KNOWN_WINDOWS = 4;

/**
 * Counts what all workers take, in hashes of Redis. While Redis cannot be reached, no call is made.
 */
function createLedger({ client, insist }: RedisServer, counted: Counted): CallLedger {
  const { field, most, keyOf, per } = counted;
  const count = createScript(client, COUNT);
  const share = `${field}:${randomUUID()}`;
  /** What this process has, by window. */
  const shares = new Map<string, number>();
  const inTurn = createMutex();

  // By the clock of Redis, so that all agree when a window is over.
  const windowOf = (nowMs: number): CalendarWindow => (per ? windowAt(per, nowMs) : RUN_WINDOW);

  async function countIn(
    window: CalendarWindow,
    [domains, each, nowMs]: readonly [number, number | undefined, number],
  ): Promise<{ now: number; each: number | undefined; allowed: number }> {
    const keys = per ? [window, windowOf(window.endsAtMs)].map(keyOf) : [keyOf(window)];
    // Kept for a while, so that people can look at it, and the clock may go back.
    const kept = per && domains > 0 ? Math.max(DAY_MS, 3 * (window.endsAtMs - nowMs)) : 0;
    const has = shares.get(window.id) ?? 0;
    const args = [field, share, per ? most : '', has, domains, Math.ceil(kept), each ?? ''];
    const [now, told, allowed] = (await count(keys, args)) as [number, string, number];
    return { now, each: told === '' ? undefined : Number(told), allowed };
  }

  async function take(domains: number, known: number | undefined, signal: AbortSignal) {
    const nowMs = per ? await timeOf(client) : 0;
    signal.throwIfAborted();
    const window = windowOf(nowMs);
    const { now, each, allowed } = await countIn(window, [domains, known ?? counted.each, nowMs]);
    const has = shares.get(window.id) ?? 0;
    const taken: Taken = { count: now - has, each, window, nowMs };
    return { taken, isMoreToCome: now === has && allowed >= 0 && allowed < most };
  }

  return {
    take: async (domains, each, signal) => {
      for (let asks = 1; ; asks += 1) {
        const { taken, isMoreToCome } = await inTurn(async () => {
          const one = await insist(() => take(domains, each, signal), signal);
          const { window, count: more } = one.taken;
          const has = (shares.get(window.id) ?? 0) + more;
          shares.delete(window.id);
          shares.set(window.id, has);
          for (const id of [...shares.keys()].slice(0, -KNOWN_WINDOWS)) shares.delete(id);
          return one;
        });
        if (!isMoreToCome || asks === MOST_ASKS) return taken;
        await delay(ALLOW_MS, undefined, { signal });
      }
    },
    read: async () => {
      const window = windowOf(await timeOf(client));
      return { taken: Number((await client.hget(keyOf(window), field)) ?? 0), window };
    },
    giveBack: (back, window, each) =>
      inTurn(async () => {
        const has = shares.get(window.id);
        if (has === undefined) return;
        shares.set(window.id, has - back);
        if (isAway(client)) return; // it is said with what is taken next
        const giving = countIn(window, [0, each, 0]).then(() => {});
        await within(GOODBYE_MS, giving);
      }),
  };
}

/**
 * Counts the calls of one credential, for all workers of all runs.
 *
 * @param id a hash of credential and API that does not reveal the credential
 */
export function createSharedCallLedger(
  redis: RedisServer,
  id: string,
  limit: CallsPer,
): CallLedger {
  const { unit, timeZone = '' } = limit;
  return createLedger(redis, {
    field: 'taken',
    most: limit.count,
    each: 1,
    per: limit,
    // Not `calls`, which was a text once.
    keyOf: (window) => `${PREFIX}:taken:${id}:${unit}${timeZone}:${window.id}`,
  });
}

/** Fields of a run's hash, one for each worker: its calls, throttled ones, and what they cost. */
const MADE = 'made:';

/**
 * KEYS: the hash. ARGV: a field and its value; the start that it is of. A hash that a later
 * start has begun anew does not learn of calls that were made before.
 */
const SAY = `
local bounds = redis.call('HGET', KEYS[1], 'bounds') or ''
local isKnown = redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1
if isKnown or string.find(bounds, ARGV[3], 1, true) then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
end
`;

/** The calls that all workers have made for a run, by its hash. */
export function readMade(hash: Readonly<Record<string, string>>): CallsMade {
  const sum = createCallCounters();
  for (const [field, value] of Object.entries(hash)) {
    if (!field.startsWith(MADE)) continue;
    const [calls = 0, throttled = 0, billedMicros = 0] = value.split(' ').map(Number);
    sum.calls += calls;
    sum.throttled += throttled;
    sum.billedMicros += billedMicros;
  }
  return sum;
}

/** Bounds nothing, and counts calls when they begin: their worker may not live to their end. */
function countingBudget(made: CallCounters): Budget {
  const permit: Permit = {
    domains: Infinity,
    isGood: () => true,
    begin: () => {
      made.calls += 1;
    },
    spend: (costMicros = 0) => {
      made.billedMicros += costMicros;
    },
    release: (costMicros) => {
      if (costMicros === undefined) return;
      made.billedMicros += costMicros;
      made.throttled += 1;
    },
  };
  return { acquire: async () => permit, tryAcquire: () => permit };
}

/** What all workers may still do for a run, and this one has done, counted in its hash. */
export interface WatchedBudget extends Budget {
  /** Says how much this worker has taken, to a Redis that has lost it. */
  say(): Promise<void>;
  /** Says what calls it has made, if that is news. Never throws: it is said again. */
  tell(): Promise<void>;
}

export function createWatchedBudget(
  redis: RedisServer,
  run: string,
  { started, bounds, counting }: StartedRun,
): WatchedBudget {
  const made = createCallCounters();
  const field = MADE + randomUUID();
  const sayMade = createScript(redis.client, SAY);
  let said = '';
  const tell = async (): Promise<void> => {
    const { calls, throttled, billedMicros } = made;
    const news = `${calls} ${throttled} ${billedMicros}`;
    if (calls === 0 || news === said) return;
    await sayMade([runKey(run)], [field, news, started]).then(
      () => {
        said = news;
      },
      () => {},
    );
  };
  const ledgers = bounds.map((bound) =>
    createLedger(redis, { ...bound, keyOf: () => runKey(run) }),
  );
  const budgets = ledgers.flatMap((ledger, at) => {
    const bound = bounds[at];
    return bound ? [createRunBudget(bound, ledger, counting)] : [];
  });
  return {
    ...joinBudgets([countingBudget(made), ...budgets]),
    say: async () => {
      said = '';
      await Promise.all([tell(), ...ledgers.map((ledger) => ledger.giveBack(0, RUN_WINDOW))]);
    },
    tell,
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
