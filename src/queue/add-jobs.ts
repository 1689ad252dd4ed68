import type { Queue } from 'bullmq';
import { type Closable, within } from '../common/lifetime.ts';
import { jobIdOf, type LookupsData, parseLookups } from './contract.ts';
import { GOODBYE_MS, LOOKUPS_JOB, QUEUES_KEY } from './names.ts';
import { CHANGE, createScript, openQueue, parsed, type RedisServer, type Script } from './redis.ts';
import { Turns } from './turns.ts';

export interface ProducerOptions {
  readonly redis: RedisServer;
  /** The queue of the API. */
  readonly queue: string;
  /** Comes back with the outcomes. */
  readonly ref: string;
  /** Whether the jobs go before those of whole lists. */
  readonly isInteractive: boolean;
}

/** How many lookups are sent to a worker together. */
const CHUNK = 50;
/** How many jobs are read from or sent to Redis at a time. */
const BATCH = 100;

/** Adds lookups that no run waits for: their outcomes go to the stream of the API's backfills. */
export class Producer implements Closable {
  /** What was done by now. */
  readonly counts = { lookups: 0, alreadyWaiting: 0 };
  readonly #options: ProducerOptions;
  readonly #queue: Queue<LookupsData>;
  readonly #change: Script;
  readonly #turns: Turns;

  constructor(options: ProducerOptions) {
    const { client } = options.redis;
    this.#options = options;
    this.#queue = openQueue<LookupsData>(client, options.queue);
    this.#change = createScript(client, CHANGE);
    this.#turns = new Turns(client, this.#queue);
  }

  /** Whether somebody has paused the queue. */
  isPaused(): Promise<boolean> {
    return this.#queue.isPaused();
  }

  /**
   * Adds lookups, however often Redis refuses. A domain that waits there already is not looked up
   * twice: its outcome comes with this reference too.
   *
   * @throws the signal's reason when it fires first; any of the lookups may then be on the queue
   */
  async add(domains: readonly string[], signal: AbortSignal): Promise<void> {
    const { redis } = this.#options;
    const left = new Set(domains);
    await redis.insist(() => this.#joinThoseWaiting(left), signal);
    const rest = [...left];
    for (let at = 0; at < rest.length; at += BATCH * CHUNK) {
      const batch = rest.slice(at, at + BATCH * CHUNK);
      await redis.insist(() => this.#addJobs(batch), signal);
      this.counts.lookups += batch.length;
    }
  }

  async close(): Promise<void> {
    await within(GOODBYE_MS, this.#queue.close());
  }

  async #addJobs(domains: readonly string[]): Promise<void> {
    const { redis, ref, isInteractive } = this.#options;
    const chunks = Array.from({ length: Math.ceil(domains.length / CHUNK) }, (_, at) =>
      domains.slice(at * CHUNK, (at + 1) * CHUNK),
    );
    const turns = isInteractive ? [] : await this.#turns.of(chunks.map(({ length }) => length));
    await redis.client.sadd(QUEUES_KEY, this.#queue.name);
    await this.#queue.addBulk(
      chunks.map((chunk, at) => {
        // As JSON, so that no ref can be taken for a domain.
        const jobId = jobIdOf('add', [JSON.stringify(ref), ...chunk]);
        const opts = { priority: turns[at] ?? 0, removeOnComplete: true, jobId };
        return { name: LOOKUPS_JOB, data: { domains: chunk, ref }, opts };
      }),
    );
  }

  /** Has those that wait answered for this reference too. @param left loses them */
  async #joinThoseWaiting(left: Set<string>): Promise<void> {
    const { client } = this.#options.redis;
    const ids = await this.#queue.getRanges(['wait', 'prioritized', 'delayed'], 0, -1);
    for (let at = 0; at < ids.length; at += BATCH) {
      const batch = ids.slice(at, at + BATCH);
      const pipeline = client.pipeline();
      for (const id of batch) pipeline.hget(this.#queue.toKey(id), 'data');
      const texts = (await pipeline.exec()) ?? [];
      for (const [index, id] of batch.entries()) {
        const text = texts[index]?.[1];
        if (typeof text === 'string') await this.#join(id, text, left);
      }
    }
  }

  async #join(id: string, text: string, left: Set<string>): Promise<void> {
    const { ref, isInteractive } = this.#options;
    const data = parseLookups(parsed(text));
    if (typeof data === 'string' || data.run !== undefined) return;
    const domains = data.domains.filter((domain) => left.has(domain));
    if (domains.length === 0) return;
    const { also = [] } = data;
    const known = data.ref === ref ? data : also.find((other) => other.ref === ref);
    const isKnown = new Set(known?.domains);
    const more = domains.filter((domain) => !isKnown.has(domain));
    if (more.length > 0) {
      const joined = JSON.stringify({ ...data, also: [...also, { ref, domains: more }] });
      const key = this.#queue.toKey(id);
      if ((await this.#change([key, `${key}:lock`], [text, joined])) === 0) return;
    }
    for (const domain of domains) left.delete(domain);
    this.counts.alreadyWaiting += domains.length;
    if (isInteractive) await (await this.#queue.getJob(id))?.changePriority({ priority: 0 });
  }
}
