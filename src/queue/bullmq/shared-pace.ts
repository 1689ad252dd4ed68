import type { SharedReading, SharedState } from '../../pace/shared-state.ts';
import { PREFIX } from './names.ts';
import type { RedisClient } from './redis.ts';

/** KEYS: state, workers. ARGV: worker. A worker that was not heard of for three seconds is gone. */
const READ = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local others = 0
local rows = redis.call('HGETALL', KEYS[2])
for i = 1, #rows, 2 do
  local seen, flying = string.match(rows[i + 1], '^(%d+):(%d+)$')
  if now - seen > 3000 then
    redis.call('HDEL', KEYS[2], rows[i])
  elseif rows[i] ~= ARGV[1] then
    others = others + flying
  end
end
local state = redis.call('HMGET', KEYS[1], 'version', 'state')
return { tostring(now), state[1] or '0', state[2], others }
`;

/** ARGV: worker, version, state, calls in flight, how long to keep it. */
const WRITE = `
local version = redis.call('HGET', KEYS[1], 'version') or '0'
if version ~= ARGV[2] then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'version', ARGV[2] + 1, 'state', ARGV[3])
redis.call('HSET', KEYS[2], ARGV[1], string.format('%d:%d', now, ARGV[4]))
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1
`;

/** The learned limit is good for the next nights. */
const KEPT_MS = 30 * 24 * 60 * 60_000;

export interface SharedPaceOptions {
  /** Tells one credential at one API from all others, without giving it away. */
  readonly id: string;
  readonly worker: string;
}

/** Keeps the pace of one credential in Redis, for all workers of all runs. */
export function createSharedPace(
  client: RedisClient,
  { id, worker }: SharedPaceOptions,
): SharedState {
  const keys = [`${PREFIX}:pace:${id}`, `${PREFIX}:pace:${id}:workers`] as const;

  async function read(): Promise<SharedReading> {
    const [now, version, state, others] = (await client.eval(READ, 2, ...keys, worker)) as [
      string,
      string,
      string | null,
      number,
    ];
    return { nowMs: Number(now), version: Number(version), state: state ?? undefined, others };
  }

  return {
    read,
    write: async ({ version, state, inFlight }) => {
      const args = [worker, version, state, inFlight, KEPT_MS];
      const isWritten = (await client.eval(WRITE, 2, ...keys, ...args)) === 1;
      return isWritten ? undefined : await read();
    },
  };
}
