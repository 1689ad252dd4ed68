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
  /** May be added to while it reads. */
  readonly keys: Set<string>;
  /**
   * Stores entries for good. They are deleted only then, and come again where Redis refuses that,
   * or another master has not heard of it. What it throws ends the reading.
   */
  readonly keep: (entries: readonly StreamEntry[]) => Promise<void>;
  readonly onFailure: (error: unknown) => void;
}

const MOST_ENTRIES = 200;
/** Shorter, and Redis is asked more often than there are calls at a slow pace. */
const LOOK_MS = 200;

/**
 * Reads streams of outcomes to their ends, and then as entries come; always from the beginning,
 * since another Redis, with a clock that is behind, may give entries places that were passed.
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
    const { client, keys, keep } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted && keys.size > 0) {
      const streams = [...keys, ...Array.from(keys, () => '0-0')];
      const found = await client.xread('COUNT', MOST_ENTRIES, 'STREAMS', ...streams);
      if (!found || signal.aborted) return;
      await keep(
        found.flatMap(([key, raw]) => raw.map(([id, fields]) => toEntry(key, id, fields))),
      );
      const deleting = found.map(([key, raw]) => client.xdel(key, ...raw.map(([id]) => id)));
      await Promise.all(deleting);
    }
  }
}

function toEntry(key: string, id: string, [, text = '']: readonly string[]): StreamEntry {
  const data = parsed(text) as OutcomesData | null | undefined;
  return { key, id, data: Array.isArray(data?.outcomes) ? data : { job: '', outcomes: [] } };
}
