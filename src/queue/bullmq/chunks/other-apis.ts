import { type Job, Queue } from 'bullmq';
import { parseLookups } from '../contract.ts';
import { LOOKUPS_QUEUE, QUEUE_OPTIONS } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';

/** Decides what a worker does with chunks for other APIs than its own. */
export interface OtherApis {
  /**
   * Whether such a chunk is refused. It is left to others while there is a worker for its API, and
   * for some seconds after, in case that worker is only restarted.
   */
  mayRefuse(chunk: string, api: string): Promise<boolean>;
}

export interface OtherApisOptions {
  /** Whether any worker asks an API. */
  readonly isServed: (api: string) => Promise<boolean>;
  /** Called once for each API whose chunks are left to other workers. */
  readonly onLeft: (api: string) => void;
  /** A monotonic clock, in milliseconds. @default performance.now */
  readonly nowMs?: () => number;
}

const PATIENCE_MS = 5_000;

export function createOtherApis({
  isServed,
  onLeft,
  nowMs = () => performance.now(),
}: OtherApisOptions): OtherApis {
  const reported = new Set<string>();
  const absences = new Map<string, Absence>();

  /**
   * An absence seen long ago says nothing about now, except for a chunk that was left before and is
   * back.
   */
  function absenceOf(chunk: string, api: string): Absence {
    const atMs = nowMs();
    const known = absences.get(api) ?? { sinceMs: atMs, seenAtMs: atMs, left: new Set() };
    const isStale = atMs - known.seenAtMs > PATIENCE_MS && !known.left.has(chunk);
    const absence = { ...known, sinceMs: isStale ? atMs : known.sinceMs, seenAtMs: atMs };
    absences.set(api, absence);
    return absence;
  }

  return {
    mayRefuse: async (chunk, api) => {
      if (await isServed(api)) absences.delete(api);
      else {
        const { sinceMs, seenAtMs, left } = absenceOf(chunk, api);
        if (seenAtMs - sinceMs >= PATIENCE_MS) return true;
        left.add(chunk);
      }
      if (!reported.has(api)) onLeft(api);
      reported.add(api);
      return false;
    },
  };
}

/** No worker was seen for an API. */
interface Absence {
  readonly sinceMs: number;
  /** When the absence was last seen. */
  readonly seenAtMs: number;
  /** Chunks that were left for a worker that may come. */
  readonly left: Set<string>;
}

/** The waiting chunks that are for a worker's own API. */
interface OwnChunks {
  /**
   * Moves some of them before all chunks of a priority.
   *
   * @param priority the priority of the first chunk, which is for another API
   * @param lookups how many lookups the moved chunks should hold
   * @returns whether there was any such chunk
   */
  bringBefore(priority: number, lookups: number): Promise<boolean>;
  close(): Promise<void>;
}

/** How many waiting chunks are searched. */
const MOST_CHUNKS = 1_024;
const READ_AT_ONCE = 64;

/**
 * BullMQ gives a worker the first chunk. If that is for another API, those behind it would wait for
 * workers that have nothing to do with them. So the worker looks for its own among the next chunks.
 *
 * @param api the API that the worker asks
 */
export function createOwnChunks(client: RedisClient, api: string): OwnChunks {
  const queue = new Queue(LOOKUPS_QUEUE, {
    connection: client,
    ...QUEUE_OPTIONS,
    skipMetasUpdate: true,
  });
  queue.on('error', () => {}); // errors of the connection are reported elsewhere
  /** Waiting chunks known to be for other APIs. This way each worker reads a chunk only once. */
  let others = new Set<string>();

  async function findUnknown(): Promise<readonly string[]> {
    const ids = await queue.getRanges(['wait', 'prioritized'], 0, MOST_CHUNKS - 1, true);
    const known = others;
    others = new Set(ids.filter((id) => known.has(id)));
    return ids.filter((id) => !others.has(id));
  }

  /**
   * The chunks of the own API among these, and the invalid ones, with how many lookups they hold.
   */
  async function readOwn(ids: readonly string[]): Promise<readonly (readonly [Job, number])[]> {
    // A job that cannot be read is mended when it comes first.
    const jobs = await Promise.all(ids.map((id) => queue.getJob(id).catch(() => undefined)));
    return jobs.flatMap((job) => {
      if (!job) return [];
      const data = parseLookups(job.data);
      if (typeof data === 'string') return [[job, 1] as const];
      if ((data.api ?? api) === api) return [[job, data.domains.length] as const];
      others.add(job.id ?? '');
      return [];
    });
  }

  return {
    bringBefore: async (priority, lookups) => {
      const unknown = await findUnknown();
      let found = 0;
      for (let at = 0; at < unknown.length && found < lookups; at += READ_AT_ONCE) {
        for (const [job, size] of await readOwn(unknown.slice(at, at + READ_AT_ONCE))) {
          if (found >= lookups) break;
          // Among jobs of equal priority, BullMQ orders by id once they were moved to the front.
          const before = Math.max(0, Math.min(job.priority, priority - 1));
          await job.changePriority({ priority: before, lifo: true });
          found += size;
        }
      }
      return found > 0;
    },
    close: () => queue.close(),
  };
}
