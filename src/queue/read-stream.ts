import { setTimeout as delay } from 'node:timers/promises';
import { unlessAborted } from '../common/lifetime.ts';
import type { OutcomesData } from './contract.ts';
import { RETRY_MS } from './names.ts';
import type { RedisClient, RedisServer } from './redis.ts';

/** What one entry of a stream of outcomes has. */
export interface StreamEntry {
  readonly key: string;
  readonly id: string;
  readonly data: OutcomesData;
}

export interface ReadStreamOptions {
  readonly redis: RedisServer;
  readonly keys: readonly string[];
  /** Where to go on, by key. @default the beginning */
  readonly after?: ReadonlyMap<string, string>;
  /** Stores entries for good. They are trimmed only then. What it throws ends the reading. */
  readonly keep: (entries: readonly StreamEntry[]) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

/** Reads streams of outcomes to their ends, and then as entries come. */
export interface StreamReader {
  /** Reads what is there by now. */
  readToEnd(): Promise<void>;
  /** Goes on until it is closed. */
  start(): void;
  /** Reads a further stream from its beginning. */
  add(key: string): void;
  close(): Promise<void>;
}

const MOST_ENTRIES = 200;
const BLOCK_MS = 1_000;

/**
 * The place in each stream is known here and not in Redis: an entry that could not be trimmed is not
 * kept twice.
 */
export function readStream(options: ReadStreamOptions): StreamReader {
  const { redis, keep, onFailure } = options;
  const { client } = redis;
  const places = new Map(options.keys.map((key) => [key, options.after?.get(key) ?? '0-0']));
  let blocking: RedisClient | undefined;
  const closing = new AbortController();
  let keeping: Promise<void> = Promise.resolve();

  /** Returns whether there was something. */
  async function read(from: RedisClient, isPatient: boolean): Promise<boolean> {
    const [keys, ids] = [[...places.keys()], [...places.values()]];
    const streams = [...keys, ...ids];
    const found = isPatient
      ? await from.xread('COUNT', MOST_ENTRIES, 'BLOCK', BLOCK_MS, 'STREAMS', ...streams)
      : await from.xread('COUNT', MOST_ENTRIES, 'STREAMS', ...streams);
    if (found === null || closing.signal.aborted) return false;
    // Both the patient reader and another may have found the same.
    const next = keeping.then(() => keepNew(found));
    keeping = next.catch(() => {});
    await next;
    return true;
  }

  async function keepNew(found: readonly RawStream[]): Promise<void> {
    const entries = found.flatMap(([key, raw]) =>
      raw
        .filter(([id]) => isBehind(id, places.get(key) ?? '0-0'))
        .map(([id, fields]) => toEntry(key, id, fields)),
    );
    if (entries.length === 0) return;
    await keep(entries);
    for (const { key, id } of entries) places.set(key, id);
    const trimming = client.pipeline();
    for (const [key] of found) trimming.xtrim(key, 'MINID', nextId(places.get(key) ?? '0-0'));
    // Refused: tried again with the next ones. A Redis that is away does not answer.
    await unlessAborted(trimming.exec(), closing.signal).catch(throwUnlessClosed);
  }

  function throwUnlessClosed(error: unknown): void {
    if (!closing.signal.aborted) throw error;
  }

  async function follow(connection: RedisClient): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await read(connection, true);
      } catch (error) {
        if (closing.signal.aborted) return;
        if (!(error instanceof Error) || error.name !== 'ReplyError') return onFailure(error);
        await delay(RETRY_MS);
      }
    }
  }

  return {
    readToEnd: async () => {
      while (!closing.signal.aborted && (await read(client, false)));
    },
    start: () => {
      blocking = redis.connect();
      void follow(blocking);
    },
    add: (key) => {
      if (!places.has(key)) places.set(key, '0-0');
    },
    close: async () => {
      closing.abort();
      blocking?.disconnect();
      await keeping;
    },
  };
}

type RawStream = readonly [key: string, entries: readonly (readonly [string, readonly string[]])[]];

function toEntry(key: string, id: string, [, data = '{}']: readonly string[]): StreamEntry {
  return { key, id, data: JSON.parse(data) as OutcomesData };
}

/** The id behind an entry's. */
function nextId(id: string): string {
  const [ms = '0', number = '0'] = id.split('-');
  return `${ms}-${Number(number) + 1}`;
}

/** Whether an id comes after another. */
function isBehind(id: string, place: string): boolean {
  const [ms = 0, number = 0] = id.split('-').map(Number);
  const [placeMs = 0, placeNumber = 0] = place.split('-').map(Number);
  return ms > placeMs || (ms === placeMs && number > placeNumber);
}
