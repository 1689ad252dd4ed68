import { setTimeout as delay } from 'node:timers/promises';
import { DAY_MS } from '../../common/format.ts';
import {
  blockSizeOf,
  type CallLedger,
  type CallsPer,
  type TakenCalls,
  windowAt,
} from '../../guard/budget.ts';
import type { Reading, StoredState } from '../../pace/shared/state.ts';
import { PREFIX, RETRY_MS } from './names.ts';
import { type RedisClient, timeOf } from './server/redis.ts';
import { createRefusals } from './server/refusals.ts';

/** KEYS: calls taken. ARGV: the limit, how many are wanted, how long to keep it in milliseconds. */
const TAKE = `
local left = ARGV[1] - (redis.call('GET', KEYS[1]) or 0)
local calls = math.max(0, math.min(left, ARGV[2]))
if calls > 0 then
  redis.call('INCRBY', KEYS[1], calls)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return calls
`;

/** KEYS: calls taken. ARGV: how many are given back. */
const GIVE_BACK = `
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then
  redis.call('DECRBY', KEYS[1], ARGV[1])
end
`;

/** How long the count of a window is kept after its end, so that people can look at it. */
const KEPT_MS = DAY_MS;

export interface SharedCallLedgerOptions {
  /** A hash of credential and API that does not reveal the credential. */
  readonly id: string;
  readonly limit: CallsPer;
  /** Called with the reason when Redis refuses to count calls. */
  readonly onNotice: (message: string) => void;
}

/**
 * Counts calls in Redis, for all workers of all runs. It uses the clock of Redis, so that all agree
 * when a window is over. While Redis cannot be reached, no call is made.
 */
export function createSharedCallLedger(
  client: RedisClient,
  { id, limit, onNotice }: SharedCallLedgerOptions,
): CallLedger {
  const refusals = createRefusals(onNotice, 'the count of calls');
  const blockSize = blockSizeOf(limit);
  const keyOf = (windowId: string): string => `${PREFIX}:calls:${id}:${limit.unit}:${windowId}`;

  async function take(): Promise<TakenCalls> {
    const nowMs = await timeOf(client);
    const window = windowAt(limit.unit, nowMs);
    const keptMs = window.endsAtMs - nowMs + KEPT_MS;
    const args = [limit.count, blockSize, keptMs] as const;
    const calls = Number(await client.eval(TAKE, 1, keyOf(window.id), ...args));
    return { calls, window, nowMs };
  }

  return {
    take: async (signal) => {
      for (;;) {
        try {
          return await take();
        } catch (error) {
          refusals.tell(error); // errors of the connection are reported elsewhere
          await delay(RETRY_MS, undefined, { signal });
        }
      }
    },
    read: async () => {
      const window = windowAt(limit.unit, await timeOf(client));
      return { taken: Number((await client.get(keyOf(window.id))) ?? 0), window };
    },
    giveBack: async (calls, window) => {
      await client.eval(GIVE_BACK, 1, keyOf(window.id), calls);
    },
  };
}

const READING = `
local function reading()
  local time = redis.call('TIME')
  local state = redis.call('HMGET', KEYS[1], 'version', 'state')
  return { tostring(time[1] * 1000 + math.floor(time[2] / 1000)), state[1] or '0', state[2] }
end
`;

/** KEYS: state. */
const READ = `${READING} return reading()`;

/**
 * KEYS: state. ARGV: version, state, how long to keep it. Returns the stored state if another
 * worker wrote first.
 */
const WRITE = `${READING}
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then return reading() end
redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'state', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return false
`;

/** Time, version, state. */
type Reply = readonly [string, string, string | null];

/** The learned limit is kept for the nights to come. */
const PACE_KEPT_MS = 30 * DAY_MS;

/**
 * Stores the pace of one credential in Redis, for all workers of all runs.
 *
 * @param id a hash of credential and API that does not reveal the credential
 */
export function createStoredPace(client: RedisClient, id: string): StoredState {
  const key = `${PREFIX}:pace:${id}`;

  return {
    read: async () => toReading((await client.eval(READ, 1, key)) as Reply),
    write: async ({ version, state }) => {
      const reply = await client.eval(WRITE, 1, key, version, state, PACE_KEPT_MS);
      return reply === null ? undefined : toReading(reply as Reply);
    },
  };
}

function toReading([now, version, state]: Reply): Reading {
  return { nowMs: Number(now), version: Number(version), state: state ?? undefined };
}
