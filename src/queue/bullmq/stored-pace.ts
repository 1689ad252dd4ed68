import type { Reading, StoredState } from '../../pace/shared/state.ts';
import { PREFIX } from './names.ts';
import type { RedisClient } from './server/redis.ts';

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
const KEPT_MS = 30 * 24 * 60 * 60_000;

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
      const reply = await client.eval(WRITE, 1, key, version, state, KEPT_MS);
      return reply === null ? undefined : toReading(reply as Reply);
    },
  };
}

function toReading([now, version, state]: Reply): Reading {
  return { nowMs: Number(now), version: Number(version), state: state ?? undefined };
}
