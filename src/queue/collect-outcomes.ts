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
import { type RedisServer, repeat } from './redis.ts';
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

  async function keep(entries: readonly StreamEntry[]): Promise<void> {
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
  }

  await claim();
  const redisId = await readId(redis);
  const placeName = (key: string): string => `${redisId} ${key}`;
  const places = new Map<string, string>();

  async function findStreams(): Promise<void> {
    for (const key of (await client.smembers(QUEUES_KEY)).map(streamKey)) {
      if (!places.has(key)) places.set(key, files.places.get(placeName(key)) ?? '0-0');
    }
  }

  await findStreams();
  const stream = new StreamReader({ client, places, keep, onFailure });
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

function lineOf(outcome: OutcomeData, { job, ref }: OutcomesData): string {
  const { domain, given } = outcome;
  return `${outcomeLine({ domain, given: given === domain ? undefined : given }, outcome, { job, ref })}\n`;
}
