import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError, describeSystemError, type OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import type { CollectFiles, Lines } from './collect-files.ts';
import type { OutcomeData, OutcomesData } from './contract.ts';
import { ABSENT_MS, COLLECTOR_KEY, ID_KEY, QUEUES_KEY, RETRY_MS, streamKey } from './names.ts';
import { readStream, type StreamEntry } from './read-stream.ts';
import { type RedisServer, repeat } from './redis.ts';
import { createNoticeFilter } from './redis-errors.ts';

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
    const lines = toLines(entries.map(({ data }) => data));
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
    for (const { data } of entries) {
      for (const { status } of data.outcomes)
        counts[status === 'found' ? 'enriched' : 'failures'] += 1;
    }
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
  const stream = readStream({ client, places, keep, onFailure });
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

/** Outcomes as lines of JSON: found ones for `enriched`, all others for `failures`. */
function toLines(entries: readonly OutcomesData[]): Lines {
  let enriched = '';
  let failures = '';
  for (const entry of entries) {
    for (const outcome of entry.outcomes) {
      if (outcome.status === 'found') enriched += enrichedLine(outcome, entry);
      else failures += failureLine(outcome, entry);
    }
  }
  return { enriched, failures };
}

function enrichedLine(outcome: OutcomeData, entry: OutcomesData): string {
  const { status, httpStatus, attempts } = outcome;
  const head = JSON.stringify({
    ...nameOf(outcome),
    status,
    http_status: httpStatus ?? null,
    attempts,
    ...originOf(outcome, entry),
  });
  return `${head.slice(0, -1)},"answer":${onOneLine(outcome.json)}}\n`;
}

function failureLine(outcome: OutcomeData, entry: OutcomesData): string {
  const { status, reason, httpStatus, attempts } = outcome;
  const line = {
    ...nameOf(outcome),
    status,
    reason,
    ...(httpStatus === undefined ? {} : { http_status: httpStatus }),
    attempts,
    ...originOf(outcome, entry),
  };
  return `${JSON.stringify(line)}\n`;
}

function nameOf({ domain, given }: OutcomeData): object {
  return { domain, ...(given === undefined || given === domain ? {} : { given }) };
}

function originOf({ fetchedAtMs }: OutcomeData, { job, ref }: OutcomesData): object {
  const fetchedAt = new Date(fetchedAtMs).toISOString();
  return { fetched_at: fetchedAt, job, ...(ref === undefined ? {} : { ref }) };
}

/**
 * The answer is not parsed and written again, because numbers with more digits than JavaScript
 * holds would not survive. A raw line break in JSON occurs only between tokens, where a space will
 * do as well.
 */
function onOneLine(json: string): string {
  const text = json.replaceAll(/[\r\n]+/g, ' ').trim();
  // Any other text would break the line.
  return text.startsWith('{') && text.endsWith('}') ? text : JSON.stringify(text);
}
