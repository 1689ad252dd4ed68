import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { outcomeLine } from '../calls/outcome.ts';
import { BrandfillError, describeSystemError, type OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import type { CollectFiles } from './collect-files.ts';
import type { OutcomeData, OutcomesData } from './contract.ts';
import { ABSENT_MS, COLLECTOR_KEY, ID_KEY, QUEUES_KEY, RETRY_MS, streamKey } from './names.ts';
import { type StreamEntry, StreamReader } from './read-stream.ts';
import { type RedisServer, repeat, timeOf } from './redis.ts';
import { createNoticeFilter } from './redis-trouble.ts';

export interface CollectOutcomesOptions {
  readonly redis: RedisServer;
  readonly files: CollectFiles;
  /** Lines written, to be counted here. */
  readonly counts: { enriched: number; failures: number };
  readonly onNotice: OnNotice;
  /** Called when the work cannot go on. */
  readonly onFailure: (error: unknown) => void;
}

const LOOK_MS = 2_000;
/** More than workers send between an answer of a Redis and that of another. */
const MOST_KEPT = 1_000;

/**
 * Appends the outcomes of backfills, of all APIs on a Redis, to files until it is closed.
 *
 * @throws BrandfillError `INVALID_SETTING` when another process does that, in another folder
 */
export async function collectOutcomes(options: CollectOutcomesOptions): Promise<Closable> {
  const { redis, files, counts, onNotice, onFailure } = options;
  const { client } = redis;
  const own = `${hostname()} (folder ${files.id.slice(0, 8)})`;
  const isNews = createNoticeFilter();
  /** The last entries that are in the files: Redis may not know yet, or any more, that they are. */
  const kept = new Set<string>();
  let isClosed = false;

  /** A folder has one collector at a time; this finds out about one with another folder. */
  async function claim(): Promise<void> {
    const [owner] = await client.mget(COLLECTOR_KEY);
    if (typeof owner === 'string' && owner !== own) {
      throw new BrandfillError(
        'INVALID_SETTING',
        `Cannot collect: another collector, on ${owner}, appends the outcomes of this Redis to files; stop it first. One that was killed counts as gone after ${ABSENT_MS / 1_000} seconds.`,
      );
    }
    await client.set(COLLECTOR_KEY, own, 'PX', ABSENT_MS);
  }

  /**
   * What is not in the files, by their places; or by their last entries, where a clock that is
   * behind gives places that were passed.
   */
  async function findNew(read: readonly StreamEntry[]): Promise<readonly StreamEntry[]> {
    const passed = read.filter(({ key, id }) => isPassed(id, files.placeIn(placeName(key))));
    if (passed.length === 0) return read;
    const nowMs = await timeOf(client);
    const isBehind = ({ key }: StreamEntry): boolean =>
      Number.parseInt(files.placeIn(placeName(key)) ?? '0') > nowMs;
    const what =
      "The clock of Redis has gone back, or is another server's: outcomes are collected as they come.";
    if (passed.some(isBehind) && isNews(what)) onNotice(what);
    return read.filter((entry) =>
      isBehind(entry) ? !kept.has(nameOf(entry)) : !passed.includes(entry),
    );
  }

  async function keep(read: readonly StreamEntry[]): Promise<void> {
    const entries = await findNew(read);
    const lines = { enriched: '', failures: '' };
    const more = { enriched: 0, failures: 0 };
    for (const { data } of entries) {
      for (const outcome of data.outcomes) {
        const kind = outcome.status === 'found' ? 'enriched' : 'failures';
        lines[kind] += lineOf(outcome, data);
        more[kind] += 1;
      }
    }
    const ends = new Map(entries.map(({ key, id }) => [placeName(key), id]));
    for (;;) {
      try {
        await files.append(lines, ends);
        break;
      } catch (error) {
        const why = `Cannot write outcomes: ${describeSystemError(error)}. Trying again; they wait in Redis.`;
        if (isNews(why)) onNotice(why);
        await delay(RETRY_MS);
        if (isClosed) throw error;
      }
    }
    counts.enriched += more.enriched;
    counts.failures += more.failures;
    for (const entry of entries) kept.add(nameOf(entry));
    for (const name of [...kept].slice(0, -MOST_KEPT)) kept.delete(name);
  }

  await claim();
  const redisId = await readId(redis);
  const placeName = (key: string): string => `${redisId} ${key}`;
  const keys = new Set<string>();

  async function findStreams(): Promise<void> {
    for (const name of await client.smembers(QUEUES_KEY)) keys.add(streamKey(name));
  }

  await findStreams();
  const stream = new StreamReader({ client, keys, keep, onFailure });
  stream.start();
  const looking = repeat(
    LOOK_MS,
    async () => {
      await claim();
      await findStreams();
    },
    (error) => {
      if (error instanceof BrandfillError) onFailure(error);
    },
  );
  return {
    close: async () => {
      isClosed = true;
      void looking.close();
      await stream.close();
      const [owner] = await client.mget(COLLECTOR_KEY);
      if (owner === own) await client.del(COLLECTOR_KEY);
    },
  };
}

/** What tells this Redis from others, and from itself before it was emptied. */
async function readId({ client }: RedisServer): Promise<string> {
  await client.set(ID_KEY, randomUUID(), 'NX');
  return (await client.get(ID_KEY)) ?? '';
}

/** An entry of a Redis whose clock is behind may have the place of another. */
function nameOf({ key, id, data: { job, outcomes } }: StreamEntry): string {
  return `${key} ${id} ${job} ${outcomes[0]?.domain}`;
}

/** Whether an entry of a stream is not behind another. */
function isPassed(id: string, place = '0-0'): boolean {
  const [ms = 0, number = 0] = id.split('-').map(Number);
  const [lastMs = 0, last = 0] = place.split('-').map(Number);
  return ms < lastMs || (ms === lastMs && number <= last);
}

function lineOf(outcome: OutcomeData, { job, ref }: OutcomesData): string {
  const { domain, given } = outcome;
  return `${outcomeLine({ domain, given: given === domain ? undefined : given }, outcome, { job, ref })}\n`;
}
