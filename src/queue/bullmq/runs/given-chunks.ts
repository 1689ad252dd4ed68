import { Queue } from 'bullmq';
import { CONTRACT_VERSION, chunkId, type LookupsData } from '../contract.ts';
import { CHUNK_OPTIONS, LOOKUPS_JOB, LOOKUPS_QUEUE, RUN_PRIORITY, runQueueName } from '../names.ts';
import { createServerClock } from '../server/commands.ts';
import type { RedisClient } from '../server/redis.ts';
import { createRetrier } from '../server/refusals.ts';
import { queueOptions } from '../traces.ts';
import type { RunLedger } from './run-ledger.ts';

/** The chunks that a run gives to workers. */
export interface GivenChunks {
  /** The queue where they wait. */
  readonly queue: Queue;
  /**
   * Puts domains on the queue as a chunk, however long Redis refuses it.
   *
   * @param round tells apart chunks with the same domains that follow each other. @default none does
   * @throws the reason of `giveUp` when that fires first
   */
  readonly give: (domains: readonly string[], round?: number) => Promise<void>;
  /**
   * Takes back chunks that no worker has begun. Returns the domains that are left of them. Leaves
   * out those that Redis does not let go for now.
   */
  readonly withdraw: () => Promise<readonly (readonly string[])[]>;
  close(): Promise<void>;
}

export interface GivenChunksOptions {
  readonly client: RedisClient;
  readonly ledger: RunLedger;
  /** The API that is meant. */
  readonly api: string;
  /** How many calls may be made for the run. @default no bound */
  readonly maxCalls?: number | undefined;
  /** Domains without an outcome yet. */
  readonly outstanding: ReadonlySet<string>;
  readonly giveUp: AbortSignal;
  readonly onNotice: (message: string) => void;
}

export function openGivenChunks(options: GivenChunksOptions): GivenChunks {
  const { client, ledger, api, maxCalls, outstanding, giveUp, onNotice } = options;
  const queue = new Queue(LOOKUPS_QUEUE, { connection: client, ...queueOptions(client) });
  queue.on('error', () => {}); // errors of the connections are reported elsewhere
  const retrier = createRetrier(onNotice);
  const now = createServerClock(client);
  const terms: Omit<LookupsData, 'domains'> = {
    v: CONTRACT_VERSION,
    replyTo: runQueueName(ledger.runId),
    api,
    ...(maxCalls === undefined ? {} : { maxCalls }),
  };

  async function takeBack(id: string): Promise<readonly string[]> {
    const job = await queue.getJob(id);
    const isWithdrawn = await job?.remove().then(
      () => true,
      () => false, // a worker has it
    );
    if (!isWithdrawn && job) return [];
    // Its worker may have finished it just now, or an earlier worker was lost in the middle of it.
    const domains = (await ledger.readLeft(id)) ?? [];
    await ledger.strike([id]);
    return domains.filter((domain) => outstanding.has(domain));
  }

  return {
    queue,
    give: async (domains, round) => {
      // The worker may not have removed the job of the round before yet.
      const rounds = round === undefined ? [] : [String(round)];
      const id = chunkId(ledger.runId, [...domains, ...rounds]);
      const data: LookupsData = { ...terms, domains: [...domains] };
      const jobOptions = { ...CHUNK_OPTIONS, jobId: id, priority: RUN_PRIORITY };
      await retrier.retryUntilAborted(async () => {
        const [timestamp] = await Promise.all([now(), ledger.note(new Map([[id, domains]]))]);
        await queue.add(LOOKUPS_JOB, data, { ...jobOptions, timestamp });
      }, giveUp);
    },
    withdraw: async () => {
      const chunks = await ledger.read();
      // What was taken back is on no queue any more: it must not be lost with what could not be.
      const left = await Promise.all([...chunks.keys()].map((id) => takeBack(id).catch(() => [])));
      return left.filter((domains) => domains.length > 0);
    },
    close: () => queue.close(),
  };
}
