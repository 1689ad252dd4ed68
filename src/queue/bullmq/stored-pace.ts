import type { Reading, StoredState } from '../../pace/shared/stored-state.ts';
import { PREFIX } from './names.ts';
import type { RedisClient } from './redis.ts';

/** KEYS: state. */
const READ = `
local time = redis.call('TIME')
local state = redis.call('HMGET', KEYS[1], 'version', 'state')
return { tostring(time[1] * 1000 + math.floor(time[2] / 1000)), state[1] or '0', state[2] }
`;

/** KEYS: state. ARGV: version, state, how long to keep it. */
const WRITE = `
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'version', ARGV[1] + 1, 'state', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
`;

/** The learned limit is good for the next nights. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

/**
 * Keeps the pace of one credential in Redis, for all workers of all runs.
 *
 * @param id tells one credential at one API from all others, without giving it away
 */
export function createStoredPace(client: RedisClient, id: string): StoredState {
  const key = `${PREFIX}:pace:${id}`;

  async function read(): Promise<Reading> {
    const [now, version, state] = (await client.eval(READ, 1, key)) as [
      string,
      string,
      string | null,
    ];
    return { nowMs: Number(now), version: Number(version), state: state ?? undefined };
  }

  return {
    read,
    write: async ({ version, state }) => {
      const isWritten = (await client.eval(WRITE, 1, key, version, state, KEPT_MS)) === 1;
      return isWritten ? undefined : await read();
    },
  };
}
