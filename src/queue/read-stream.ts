import { type Closable, createMutex, within } from '../common/lifetime.ts';
import type { OutcomesData } from './contract.ts';
import { GOODBYE_MS } from './names.ts';
import { parsed, type RedisClient, repeat } from './redis.ts';
import { isReply } from './redis-errors.ts';

/** What one entry of a stream of outcomes has. */
export interface StreamEntry {
  readonly key: string;
  readonly id: string;
  readonly data: OutcomesData;
}

export interface ReadStreamOptions {
  readonly client: RedisClient;
  /** Where to go on, by key: `0-0` is the beginning. Keys may be added while it reads. */
  readonly places: Map<string, string>;
  /** Stores entries for good. They are trimmed only then. What it throws ends the reading. */
  readonly keep: (entries: readonly StreamEntry[]) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

const MOST_ENTRIES = 200;
/** Shorter, and Redis is asked more often than there are calls at a slow pace. */
const LOOK_MS = 200;

/**
 * Reads streams of outcomes to their ends, and then as entries come. The place in each is known
 * here and not in Redis: an entry that could not be trimmed is not kept twice.
 */
export class StreamReader {
  readonly #options: ReadStreamOptions;
  readonly #closing = new AbortController();
  readonly #inTurn = createMutex(); // one reading at a time
  #following: Closable | undefined;

  constructor(options: ReadStreamOptions) {
    this.#options = options;
  }

  /** Reads what is there by now. */
  readToEnd(): Promise<void> {
    return this.#inTurn(() => this.#readAll());
  }

  /**
   * Reads all that is there, what was kept and not trimmed once more: another Redis, with a clock
   * that is behind, may give entries places that were passed.
   */
  readAnew(): Promise<void> {
    return this.#inTurn(() => {
      for (const key of this.#options.places.keys()) this.#options.places.set(key, '0-0');
      return this.#readAll();
    });
  }

  /** Goes on until it is closed. */
  start(): void {
    const fail = (error: unknown): void => {
      if (this.#closing.signal.aborted || isReply(error)) return; // refused: read again
      this.#closing.abort();
      this.#options.onFailure(error);
    };
    this.#following = repeat(LOOK_MS, () => this.readToEnd(), fail);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    void this.#following?.close();
    const read = this.#inTurn(async () => {});
    await within(GOODBYE_MS, read); // a Redis that is away does not answer
  }

  async #readAll(): Promise<void> {
    const { client, places, keep } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted && places.size > 0) {
      const streams = [...places.keys(), ...places.values()];
      const found = await client.xread('COUNT', MOST_ENTRIES, 'STREAMS', ...streams);
      if (!found || signal.aborted) return;
      await keep(
        found.flatMap(([key, raw]) => raw.map(([id, fields]) => toEntry(key, id, fields))),
      );
      const trimming = client.pipeline();
      for (const [key, raw] of found) {
        const [last = '0-0'] = raw.at(-1) ?? [];
        places.set(key, last);
        trimming.xtrim(key, 'MINID', nextId(last)); // refused: done with the next ones
      }
      await trimming.exec();
    }
  }
}

function toEntry(key: string, id: string, [, text = '']: readonly string[]): StreamEntry {
  const data = parsed(text) as OutcomesData | null | undefined;
  return { key, id, data: Array.isArray(data?.outcomes) ? data : { job: '', outcomes: [] } };
}

/** The id behind an entry's. */
function nextId(id: string): string {
  const [ms = '0', number = '0'] = id.split('-');
  return `${ms}-${Number(number) + 1}`;
}
