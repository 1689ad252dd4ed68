import { DAY_MS } from '../common/format.ts';
import { PREFIX } from './names.ts';
import { type RedisClient, repeat, timeOf } from './redis.ts';

/** All runs that are shown, by the time of their last announcement. */
const BOARD = `${PREFIX}:board`;
const POLL_MS = 500;
/** Every second look writes the state of the run. */
const LOOKS_PER_STATE = 2;
/** Requests to a run that no longer reads them are dropped after this time. */
const ASKED_FOR_MS = 30_000;
/** How long a run is shown after its last announcement. */
const KEPT_MS = DAY_MS;
const MOST_RUNS = 50;

/** Announces the state of a run until it is closed. */
export interface RunAnnouncement {
  /** Announces the state for a last time, which stays for a day. */
  close(): Promise<void>;
}

export interface AnnounceRunOptions {
  readonly id: string;
  /** Returns the state as JSON. */
  readonly describe: () => string;
  /** Called with each action that is asked of the run. */
  readonly onAsked: (action: string) => void;
}

/** Shows a run in Redis and takes requests to it, both within a second. */
export function announceRun(client: RedisClient, options: AnnounceRunOptions): RunAnnouncement {
  const { id, describe, onAsked } = options;
  let looks = 0;

  async function tell(): Promise<void> {
    const now = await timeOf(client);
    await client
      .multi()
      .zadd(BOARD, now, id)
      .zremrangebyrank(BOARD, 0, -1 - MOST_RUNS)
      .pexpire(BOARD, KEPT_MS)
      .set(stateKey(id), describe(), 'PX', KEPT_MS)
      .exec();
  }

  async function look(): Promise<void> {
    for (const action of (await client.lpop(askedKey(id), 10)) ?? []) onAsked(action);
    if (looks % LOOKS_PER_STATE === 0) await tell();
    looks += 1;
  }

  const heartbeat = repeat(POLL_MS, look);
  return {
    close: async () => {
      heartbeat.close();
      await tell().catch(() => {}); // otherwise the run looks lost, which it is to this Redis
    },
  };
}

/** A run as it was announced. */
export interface AnnouncedRun {
  readonly id: string;
  /** JSON. */
  readonly state: string;
  /** The time since its last announcement. */
  readonly silentMs: number;
}

/** The runs that were announced within a day, at most fifty. */
export async function readRuns(client: RedisClient): Promise<readonly AnnouncedRun[]> {
  const now = await timeOf(client);
  const found = await client.zrange(BOARD, now - KEPT_MS, '+inf', 'BYSCORE', 'WITHSCORES');
  const ids = found.filter((_, at) => at % 2 === 0);
  if (ids.length === 0) return [];
  const states = await client.mget(ids.map(stateKey));
  return ids.flatMap((id, at) => {
    const state = states[at];
    const silentMs = now - Number(found[2 * at + 1]);
    return typeof state === 'string' ? [{ id, state, silentMs }] : [];
  });
}

/** Asks for an action on a run. It is done when the process of the run reads it. */
export async function askRun(client: RedisClient, id: string, action: string): Promise<void> {
  await client.multi().rpush(askedKey(id), action).pexpire(askedKey(id), ASKED_FOR_MS).exec();
}

function stateKey(id: string): string {
  return `${PREFIX}:board:${id}`;
}

function askedKey(id: string): string {
  return `${PREFIX}:board-asked:${id}`;
}

/** Reads JSON that another process, perhaps of another version, has written; undefined if it is none. */
export function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
