import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError, describeSystemError, type OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import type { CollectFiles, Lines } from './collect-files.ts';
import type { OutcomeData, OutcomesData } from './contract.ts';
import { ABSENT_MS, COLLECTOR_KEY, ID_KEY, QUEUES_KEY, RETRY_MS, streamKey } from './names.ts';
import { readStream, type StreamEntry } from './read-stream.ts';
import { createScript, type RedisServer, repeat } from './redis.ts';
import { createNoticeFilter } from './redis-errors.ts';

export interface CollectOutcomesOptions {
  readonly redis: RedisServer;
  readonly files: CollectFiles;
  /** Lines written, to be counted here. */
  readonly counts: { enriched: number; failures: number };
  readonly onNotice: OnNotice;
  /** Called when the work cannot go on. */
  readonly onFailure: (error: unknown) => void;
  /** Ends the wait for another collector. */
  readonly signal: AbortSignal;
}

const LOOK_MS = 2_000;

/** KEYS: collector. ARGV: own name, time to live. Returns who has it. */
const KEEP = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return owner end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return ARGV[1]
`;

/**
 * Appends the outcomes of backfills, of all APIs on a Redis, to files until it is closed. One process at
 * a time does so: two would trim what the other has not read. The place of one that was killed is kept
 * for its folder for 15 seconds.
 *
 * @throws BrandfillError `INVALID_SETTING` when another process does that; the signal's reason
 */
export async function collectOutcomes(options: CollectOutcomesOptions): Promise<Closable> {
  const { redis, files, counts, onNotice, onFailure, signal } = options;
  const { client } = redis;
  const own = `${hostname()} (folder ${files.id.slice(0, 8)})`;
  const keepLock = createScript(client, KEEP);
  const isNews = createNoticeFilter();
  let heldMs = Number.NEGATIVE_INFINITY;
  let isClosed = false;

  /** Returns who else has the place. */
  async function tryToHold(): Promise<string | undefined> {
    const askedMs = performance.now();
    const owner = String(await keepLock([COLLECTOR_KEY], [own, ABSENT_MS]));
    if (owner !== own) return owner;
    heldMs = askedMs;
    return undefined;
  }

  async function hold(): Promise<void> {
    const other = await tryToHold();
    if (other === undefined) return;
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot collect: another collector, on ${other}, appends the outcomes of this Redis to files; stop it first.`,
    );
  }

  /** Waits for one that was killed to count as gone. */
  async function holdSoon(): Promise<void> {
    const other = await tryToHold();
    if (other === undefined) return;
    onNotice(
      `Another collector, on ${other}, has appended the outcomes of this Redis to files until a moment ago: waiting for up to ${ABSENT_MS / 1_000} seconds whether it is gone.`,
    );
    const untilMs = performance.now() + ABSENT_MS;
    while (performance.now() < untilMs && (await tryToHold()) !== undefined) {
      await delay(RETRY_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
    }
    await hold();
  }

  async function keep(entries: readonly StreamEntry[]): Promise<void> {
    // After a standstill, another may have taken the place.
    if (performance.now() - heldMs > ABSENT_MS / 2) await hold();
    const lines = toLines(entries.map(({ data }) => data));
    const places = new Map(entries.map(({ key, id }) => [placeName(key), id]));
    for (;;) {
      try {
        await files.append(lines, places);
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

  await holdSoon();
  const redisId = await readId(redis);
  const placeName = (key: string): string => `${redisId} ${key}`;
  const keys = (await client.smembers(QUEUES_KEY)).map(streamKey);
  const after = new Map(keys.map((key) => [key, files.places.get(placeName(key)) ?? '0-0']));
  const stream = readStream({ redis, keys, after, keep, onFailure });
  stream.start();
  const looking = repeat(
    LOOK_MS,
    async () => {
      await hold();
      for (const name of await client.smembers(QUEUES_KEY)) stream.add(streamKey(name));
    },
    (error) => {
      if (error instanceof BrandfillError) onFailure(error);
    },
  );
  return {
    close: async () => {
      isClosed = true;
      looking.close();
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
