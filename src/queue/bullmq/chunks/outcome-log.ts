import { setTimeout as delay } from 'node:timers/promises';
import type { Shape } from '../../../brand/shape.ts';
import type { OutcomeData } from '../contract.ts';
import { KEPT_MS, logKey } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import { KnownShapes, noteShape, type ShapeNote } from './shape-note.ts';

/**
 * Outcomes in Redis, by chunk, written as they come. A worker that takes over a chunk from a killed
 * one reads there what was already asked. A run reads there the outcomes of a chunk, so that each
 * answer is sent only once.
 */
export interface OutcomeLog {
  /**
   * Logs an outcome after those before it. Resolves when Redis has it, however long Redis refuses
   * it.
   *
   * @param shape the columns of its answer, which spares readers from parsing the answer. @default
   *   unknown
   */
  add(chunk: string, outcome: OutcomeData, shape?: Shape): Promise<void>;
  /** Notes that a chunk is now looked up with no other chunk beside it. */
  noteIsolatedAttempt(chunk: string): Promise<void>;
  /**
   * Makes the log of a chunk that is about to be finished expire soon, in case it is not removed.
   */
  expireSoon(chunk: string): Promise<void>;
  /** Drops a chunk from the memory of this process. Its log in Redis stays. */
  letGo(chunk: string): void;
  /** Removes the log of a finished chunk. */
  remove(chunk: string): Promise<void>;
}

/** The entries that workers have logged for a chunk. */
export interface LoggedChunk {
  readonly outcomes: readonly LoggedOutcome[];
  /** How many workers began it with no other chunk beside it. */
  readonly isolatedAttempts: number;
}

export interface LoggedOutcome {
  readonly data: OutcomeData;
  /** Undefined when the worker did not state it, as in earlier versions. */
  readonly shape: Shape | undefined;
}

/** Reads what is in the log of a chunk. */
export type ReadLog = (chunk: string) => Promise<LoggedChunk>;

const ISOLATED = 'alone';
/** Long enough for another worker to take the chunk over if this one is killed now. */
const SOON_MS = 60_000;
const RETRY_MS = 500;

export function createLogReader(client: RedisClient): ReadLog {
  const shapes = new KnownShapes();
  return async (chunk) => {
    const entries = await client.lrange(logKey(chunk), 0, -1);
    const outcomes = entries
      .filter((entry) => entry !== ISOLATED)
      .map((entry) => decode(entry, shapes));
    return { outcomes, isolatedAttempts: entries.length - outcomes.length };
  };
}

export function createOutcomeLog(client: RedisClient): OutcomeLog {
  /** Logs that this process has written to and whose expiry is set. */
  const begun = new Set<string>();
  /** The shapes that each log spells out. */
  const spelled = new Map<string, Set<Shape>>();
  let gathered = new Map<string, string[]>();
  let writing: Promise<void> = Promise.resolve();

  /**
   * Writes all that gathered during the last write. This takes few round trips and adds little
   * delay.
   */
  async function writeNext(before: Promise<void>): Promise<void> {
    await before;
    let batch = gathered;
    gathered = new Map();
    for (;;) {
      batch = await write(batch);
      if (batch.size === 0) return;
      await delay(RETRY_MS);
    }
  }

  /** Returns the entries that Redis refused. */
  async function write(batch: ReadonlyMap<string, string[]>): Promise<Map<string, string[]>> {
    const refused = new Map<string, string[]>();
    // Not a pipeline: creating one costs more than several commands, because it learns all scripts
    // of BullMQ.
    const writes = [...batch].map(async ([key, entries]) => {
      try {
        await append(key, entries);
      } catch {
        refused.set(key, entries);
      }
    });
    await Promise.all(writes);
    return refused;
  }

  async function append(key: string, entries: readonly string[]): Promise<void> {
    const appended = client.rpush(key, ...entries);
    if (begun.has(key)) {
      const isAnew = (await appended) === entries.length; // its run or Redis has lost the log
      if (isAnew) {
        spelled.delete(key);
        await client.pexpire(key, KEPT_MS);
      }
      return;
    }
    const dated = client.pexpire(key, KEPT_MS);
    await Promise.all([appended, dated]);
    begun.add(key);
  }

  /** Notes a shape in the log with this key, spelled out at its first place there. */
  function noteIn(key: string, shape: Shape): ShapeNote {
    const known = spelled.get(key) ?? new Set();
    spelled.set(key, known);
    const isSpelled = known.has(shape);
    known.add(shape);
    return noteShape(shape, isSpelled);
  }

  function forget(chunk: string): void {
    begun.delete(logKey(chunk));
    spelled.delete(logKey(chunk));
  }

  return {
    add: (chunk, outcome, shape) => {
      const key = logKey(chunk);
      if (gathered.size === 0) writing = writeNext(writing);
      const entry = encode(outcome, shape && noteIn(key, shape));
      const entries = gathered.get(key);
      if (entries) entries.push(entry);
      else gathered.set(key, [entry]);
      return writing;
    },
    noteIsolatedAttempt: async (chunk) => {
      await client.multi().rpush(logKey(chunk), ISOLATED).pexpire(logKey(chunk), KEPT_MS).exec();
    },
    expireSoon: async (chunk) => {
      await client.pexpire(logKey(chunk), SOON_MS);
    },
    letGo: forget,
    remove: async (chunk) => {
      forget(chunk);
      await client.del(logKey(chunk));
    },
  };
}

/**
 * A line with all but the answer, then the answer as it came. JSON within JSON would be slow to
 * write and to read.
 */
function encode({ json, ...head }: OutcomeData, shape: ShapeNote | undefined): string {
  return `${JSON.stringify(shape ? Object.assign(head, shape) : head)}\n${json}`;
}

function decode(entry: string, shapes: KnownShapes): LoggedOutcome {
  const end = entry.indexOf('\n');
  const { shape, paths, ...head } = JSON.parse(entry.slice(0, end)) as OutcomeData & ShapeNote;
  const data = Object.assign(head, { json: entry.slice(end + 1) });
  return { data, shape: shape === undefined ? undefined : shapes.find(shape, paths) };
}
