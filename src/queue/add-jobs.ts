import { type Closable, within } from '../common/lifetime.ts';
import { jobIdOf, type LookupsData } from './contract.ts';
import { BACKFILL_PRIORITY, LOOKUPS_JOB, QUEUES_KEY, SHUTDOWN_TIMEOUT_MS } from './names.ts';
import { openQueue, type RedisServer } from './redis.ts';

export interface ProducerOptions {
  readonly redis: RedisServer;
  /** The queue of the API. */
  readonly queue: string;
  /** Comes back with the outcomes. */
  readonly ref: string;
  /** Whether the jobs go before those of whole lists. */
  readonly isInteractive: boolean;
}

/** Adds lookups that no run waits for: their outcomes go to the stream of the API's backfills. */
export interface Producer extends Closable {
  /** Whether somebody has paused the queue. */
  isPaused(): Promise<boolean>;
  /**
   * Adds jobs, however often Redis refuses. One that is on the queue already, because the same list was
   * added before, is not added twice.
   *
   * @returns how many of the lookups were not on the queue before
   * @throws the signal's reason when it fires first; any of the jobs may then be on the queue
   */
  add(jobs: readonly (readonly string[])[], signal: AbortSignal): Promise<number>;
}

export function openProducer(options: ProducerOptions): Producer {
  const { redis, ref, isInteractive } = options;
  const { client } = redis;
  const queue = openQueue<LookupsData>(client, options.queue);
  const priority = isInteractive ? {} : { priority: BACKFILL_PRIORITY };

  async function findThere(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const pipeline = client.pipeline();
    for (const id of ids) pipeline.exists(queue.toKey(id));
    const found = (await pipeline.exec()) ?? [];
    const refusal = found.find(([error]) => error !== null)?.[0];
    if (refusal) throw refusal;
    return new Set(ids.filter((_, at) => found[at]?.[1] === 1));
  }

  return {
    isPaused: () => queue.isPaused(),
    add: async (lists, signal) => {
      const jobs = lists.map((domains) => {
        const data: LookupsData = { domains, ref };
        // As JSON, so that no ref can be taken for a domain.
        const jobId = jobIdOf('add', [JSON.stringify(ref), ...domains]);
        return { name: LOOKUPS_JOB, data, opts: { ...priority, removeOnComplete: true, jobId } };
      });
      let there: ReadonlySet<string> | undefined;
      const addAll = async (): Promise<void> => {
        // Looked up before the first try only: jobs that a try added are new.
        there ??= await findThere(jobs.map(({ opts }) => opts.jobId));
        await client.sadd(QUEUES_KEY, queue.name);
        await queue.addBulk(jobs);
      };
      await redis.insist(addAll, signal);
      const added = jobs.filter(({ opts }) => !there?.has(opts.jobId));
      return added.reduce((sum, { data }) => sum + data.domains.length, 0);
    },
    close: async () => {
      await within(SHUTDOWN_TIMEOUT_MS, queue.close());
    },
  };
}
