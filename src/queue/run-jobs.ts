import type { Queue } from 'bullmq';
import { type LookupsData, parseLookups } from './contract.ts';
import { LOOKUPS_JOB, runJobPrefix } from './names.ts';
import { CHANGE, createScript, openQueue, parsed, type RedisServer, type Script } from './redis.ts';
import { Turns } from './turns.ts';

/** States of a job in BullMQ. */
type States = Parameters<Queue['getRanges']>[0];

/**
 * A job whose adding was not answered is added again after an outage, when it may be done: not
 * within this time.
 */
const SENT_AGAIN_MS = 600_000;

export interface RunJobsOptions {
  readonly redis: RedisServer;
  /** The queue of the API. */
  readonly queue: string;
  readonly run: string;
  /** Unique among the starts of the run. */
  readonly started: string;
  /** Ends the patience with a Redis that refuses jobs. */
  readonly signal: AbortSignal;
}

/**
 * The jobs of a run, on the queue of its API: which domain is in which, and which of them are
 * there.
 */
export class RunJobs {
  readonly queue: Queue<LookupsData>;
  readonly turns: Turns;
  readonly #options: RunJobsOptions;
  /** The jobs of domains that are on the queue or at workers. */
  readonly #jobOf = new Map<string, string>();
  /** Jobs that may not be in Redis yet: they were not sent, or it was away and is asked again. */
  readonly #onTheirWay = new Set<string>();
  readonly #change: Script;
  #given = 0;

  constructor(options: RunJobsOptions) {
    const { redis, queue } = options;
    this.#options = options;
    this.queue = openQueue<LookupsData>(redis.client, queue);
    this.turns = new Turns(redis.client, this.queue);
    this.#change = createScript(redis.client, CHANGE);
  }

  /** How many lookups are on the queue or at workers. */
  get lookups(): number {
    return this.#jobOf.size;
  }

  get ids(): readonly string[] {
    return [...new Set(this.#jobOf.values())];
  }

  /** Adds a job. Not awaited: the lookups say how many are on their way. */
  give(domains: readonly string[]): void {
    const { redis, run, started, signal } = this.#options;
    this.#given += 1;
    const jobId = `${runJobPrefix(run)}${started}-${this.#given}`;
    for (const domain of domains) this.#jobOf.set(domain, jobId);
    const add = async (): Promise<void> => {
      const [priority = 0] = await this.turns.of([domains.length], this.lookups);
      signal.throwIfAborted(); // so a stop removes whatever was sent
      const deduplication = { id: jobId, ttl: SENT_AGAIN_MS };
      await this.queue.add(
        LOOKUPS_JOB,
        { domains: [...domains], run },
        { priority, jobId, deduplication },
      );
      this.#onTheirWay.delete(jobId);
    };
    this.#onTheirWay.add(jobId);
    redis.insist(add, signal).catch(() => {}); // stopped
  }

  /** The lookups of these domains are over. */
  end(domains: Iterable<string>): void {
    for (const domain of domains) this.#jobOf.delete(domain);
  }

  /** The domains of some jobs. */
  domainsOf(ids: ReadonlySet<string>): readonly string[] {
    return [...this.#jobOf].flatMap(([domain, id]) => (ids.has(id) ? [domain] : []));
  }

  /** The ids of its jobs in Redis, whichever start of the run or worker has added them. */
  async find(...states: States): Promise<string[]> {
    const ids = await this.queue.getRanges(states, 0, -1);
    return ids.filter((id) => id.startsWith(runJobPrefix(this.#options.run)));
  }

  /** Takes up jobs of an earlier start. @returns their domains */
  async adopt(...states: States): Promise<readonly string[]> {
    const adopted = await this.#read(...states);
    for (const { id, data } of adopted)
      for (const domain of data.domains) this.#jobOf.set(domain, id);
    return adopted.flatMap(({ data }) => data.domains);
  }

  /**
   * Takes out of its jobs what is over: a Redis that comes back from a snapshot, or as another
   * master, may have jobs again that were done. They would be paid twice.
   */
  async takeOutDone(): Promise<void> {
    const changing = (await this.#read('wait', 'prioritized', 'active', 'delayed')).map(
      async ({ id, text, data }) => {
        const domains = data.domains.filter((domain) => this.#jobOf.get(domain) === id);
        if (domains.length === data.domains.length) return;
        await this.#change([this.queue.toKey(id)], [text, JSON.stringify({ ...data, domains })]);
      },
    );
    await Promise.all(changing);
  }

  async #read(...states: States) {
    const reading = (await this.find(...states)).map(async (id) => {
      const text = await this.#options.redis.client.hget(this.queue.toKey(id), 'data');
      const data = text === null ? '' : parseLookups(parsed(text));
      return text === null || typeof data === 'string' ? [] : [{ id, text, data }];
    });
    return (await Promise.all(reading)).flat();
  }

  /** @returns those that are not at a worker, and are gone now, or were never sent */
  async remove(ids: readonly string[]): Promise<ReadonlySet<string>> {
    const removed = await Promise.all(ids.map((id) => this.queue.remove(id)));
    return new Set(ids.filter((id, at) => removed[at] === 1 || this.#onTheirWay.has(id)));
  }

  /** Jobs that no worker will take: they are not there, failed, or are on no list of BullMQ. */
  async findGone(): Promise<ReadonlySet<string>> {
    // Before those that are there are read.
    const ids = this.ids.filter((id) => !this.#onTheirWay.has(id));
    const there = new Set(await this.find('wait', 'prioritized', 'active', 'delayed'));
    return new Set(ids.filter((id) => !there.has(id)));
  }
}
