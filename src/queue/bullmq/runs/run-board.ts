import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { timeOf } from '../server/server-time.ts';

/** All runs that are shown, by when they were heard of last. */
const BOARD = `${PREFIX}:board`;
const LOOK_MS = 500;
/** Every second look tells how the run stands. */
const LOOKS_PER_STATE = 2;
/** What was asked of a run that does not look any more is forgotten. */
const ASKED_FOR_MS = 30_000;
/** How long a run is shown after it was heard of last. */
const KEPT_MS = 24 * 60 * 60_000;
const MOST_RUNS = 50;

/** Says how a run stands, until it is closed. */
export interface RunAnnouncement {
  /** Says so for a last time; that stays for a day. */
  close(): Promise<void>;
}

export interface AnnounceRunOptions {
  readonly id: string;
  /** JSON that says how it stands. */
  readonly describe: () => string;
  /** Told what somebody asks of it. */
  readonly onAsked: (action: string) => void;
}

/** Shows a run to whoever looks in Redis, and takes what is asked of it, both within a second. */
export function announceRun(client: RedisClient, options: AnnounceRunOptions): RunAnnouncement {
  const { id, describe, onAsked } = options;
  let looks = 0;
  let isLooking = false;

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
    if (isLooking) return;
    isLooking = true;
    try {
      for (const action of (await client.lpop(askedKey(id), 10)) ?? []) onAsked(action);
      if (looks % LOOKS_PER_STATE === 0) await tell();
      looks += 1;
    } catch {
      // Redis is away; what it was not told it is told next time.
    } finally {
      isLooking = false;
    }
  }

  const timer = setInterval(() => void look(), LOOK_MS);
  void look();
  return {
    close: async () => {
      clearInterval(timer);
      await tell().catch(() => {}); // then it looks lost, which it is to this Redis
    },
  };
}

/** A run as it was told of. */
export interface AnnouncedRun {
  readonly id: string;
  /** JSON. */
  readonly state: string;
  /** For how long nothing was heard of it. */
  readonly silentMs: number;
}

/** The runs that were heard of within a day, the last fifty. */
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

/** Asks something of a run; it is done when its process looks. */
export async function askRun(client: RedisClient, id: string, action: string): Promise<void> {
  await client.multi().rpush(askedKey(id), action).pexpire(askedKey(id), ASKED_FOR_MS).exec();
}

function stateKey(id: string): string {
  return `${PREFIX}:board:${id}`;
}

function askedKey(id: string): string {
  return `${PREFIX}:board-asked:${id}`;
}
