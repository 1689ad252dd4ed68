import { setTimeout as delay } from 'node:timers/promises';
import { within } from '../../../common/lifetime.ts';
import type { Reply } from '../../lookup-queue.ts';
import { createStreamReader, type RawEntry, type StreamEntry } from '../chunks/outcome-stream.ts';
import { toOutcome } from '../contract.ts';
import { runStreamKey } from '../names.ts';
import type { RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import type { CallNote } from './run-calls.ts';

/** The outcomes that workers report to a run. */
export interface RunOutcomes {
  /** The error that kept outcomes from being stored. They stay in Redis: the next run gets them. */
  readonly failure: { readonly error: unknown } | undefined;
  /** When the last outcomes came, by `performance.now()`; initially, when this was opened. */
  readonly lastAtMs: number;
  close(): Promise<void>;
}

export interface RunOutcomesOptions {
  readonly redis: RedisServer;
  readonly runId: string;
  /** Outcomes that an earlier run of the name did not store, as `readLeftOutcomes` returns them. */
  readonly left: readonly StreamEntry[];
  /** Stores outcomes for good. */
  readonly collect: Reply;
  /** Called with what the run does not learn from outcomes. */
  readonly onNote: (note: CallNote) => void;
  /** Called when outcomes are stored, or cannot be. */
  readonly onChange: () => void;
  /** Called with the reason when Redis refuses to hand outcomes over. */
  readonly onNotice: (message: string) => void;
}

/** Batches that are read at once. */
const ENTRIES_AT_ONCE = 32;
/** How long Redis may wait for the next outcome before it answers. */
const BLOCK_MS = 1_000;
const RETRY_MS = 500;
/**
 * When a run is over, its last outcomes are stored. Only their removal may still be under way. A
 * connection may have lost it, which shows only after half a minute, so the wait is bounded.
 */
const LAST_REMOVAL_MS = 1_500;
const BEGINNING = '0-0';

/** Reads the outcomes that an earlier run of the name did not store. */
export async function readLeftOutcomes(
  { client }: RedisServer,
  runId: string,
): Promise<readonly StreamEntry[]> {
  return await createStreamReader(client).readAll(runStreamKey(runId));
}

/**
 * Stores outcomes as they come, and removes them from Redis when they are stored. While one batch is being
 * stored, the next one is read.
 *
 * @throws what storing those that are left throws
 */
export async function openRunOutcomes(options: RunOutcomesOptions): Promise<RunOutcomes> {
  const { redis, runId, left, collect, onNote, onChange, onNotice } = options;
  const stream = runStreamKey(runId);
  const { decode } = createStreamReader(redis.client);
  const refusals = createRefusals(onNotice, 'a run');
  let failure: RunOutcomes['failure'];
  let lastAtMs = performance.now();
  let isClosed = false;

  async function keep(entries: readonly StreamEntry[]): Promise<void> {
    const outcomes = entries.flatMap((entry) =>
      entry.outcomes.map(({ data, shape }) => toOutcome(data, shape)),
    );
    if (outcomes.length > 0) await collect(outcomes);
    onChange();
    const ids = entries.map(({ id }) => id);
    if (ids.length > 0) {
      await redis.client.xdel(stream, ...ids).catch(async (error: unknown) => {
        refusals.tell(error);
        await delay(RETRY_MS); // they will be read again
      });
    }
  }

  // Calls for them were made for the earlier run.
  await keep(left);

  const connection = redis.connect();

  async function readAll(): Promise<void> {
    let storing = 0;
    let stored: Promise<void> = Promise.resolve();
    let after = BEGINNING;
    while (!isClosed && !failure) {
      // All that is left there is new if nothing is being stored: after a failover, an outcome may have an
      // earlier id than those before it.
      const found = await read(storing === 0 ? BEGINNING : after);
      if (!found) continue;
      lastAtMs = performance.now();
      after = found.at(-1)?.id ?? after;
      for (const { note } of found) if (note) onNote(note);
      const before = stored;
      storing += 1;
      stored = keep(found)
        .catch((error: unknown) => {
          failure ??= { error };
          onChange();
        })
        .finally(() => {
          storing -= 1;
        });
      await before;
    }
    await stored;
  }

  async function read(after: string): Promise<readonly StreamEntry[] | undefined> {
    try {
      const answer = await connection.xread(
        ...(['COUNT', ENTRIES_AT_ONCE, 'BLOCK', BLOCK_MS, 'STREAMS', stream, after] as const),
      );
      const [[, entries] = []] = (answer ?? []) as [string, RawEntry[]][];
      return entries && decode(entries);
    } catch (error) {
      if (!isClosed) {
        refusals.tell(error); // errors of the connection are reported elsewhere
        await delay(RETRY_MS);
      }
      return undefined;
    }
  }

  const reading = readAll();
  return {
    get failure() {
      return failure;
    },
    get lastAtMs() {
      return lastAtMs;
    },
    close: async () => {
      isClosed = true;
      connection.disconnect(); // it may be waiting for an outcome
      await within(LAST_REMOVAL_MS, reading);
    },
  };
}
