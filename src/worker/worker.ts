import type { Chunk, Reply } from '../calls/lookup-queue.ts';
import { type LookupBounds, type LookupContext, lookUp } from './lookup.ts';

export interface WorkerOptions extends LookupContext {
  /** Lookups under way at the same time, over all chunks. */
  readonly concurrency: number;
}

/**
 * Turns chunks into outcomes. A lookup begins when a caller is free for it; until then it is a name
 * in its chunk. A lookup whose answer is withheld until others tell more keeps no caller.
 */
export class Worker {
  readonly #options: WorkerOptions;
  /** Chunks by the lists that they are of; the list whose turn it is comes first. */
  readonly #lists = new Map<unknown, ChunkUnderWay[]>();
  #callers = 0;
  #withheld = 0;
  #lookups = 0;
  #isIdlingWhileSlow = false;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /**
   * Looks up every domain of a chunk and replies with each outcome as it comes. Domains that were
   * not asked because the run stopped have no outcome. Several chunks may be handled at once.
   *
   * @param isWanted asked just before each lookup. False spares it. @default always true
   */
  async handle(
    { domains, budget, list }: Chunk,
    reply: Reply,
    isWanted?: (domain: string) => boolean,
  ): Promise<void> {
    if (domains.length === 0) return;
    const onWithheld = (isWithheld: boolean): void => this.#onWithheld(isWithheld);
    const chunk = new ChunkUnderWay(domains, reply, { budget, isWanted, onWithheld, list });
    this.#lookups += domains.length;
    this.#lists.set(list, [...(this.#lists.get(list) ?? []), chunk]);
    this.#startCallers();
    await chunk.settled;
  }

  #startCallers(): void {
    const { concurrency } = this.#options;
    while (this.#lists.size > 0 && this.#callers < concurrency) void this.#startCaller();
  }

  /** A caller goes from domain to domain until none is left. */
  async #startCaller(): Promise<void> {
    this.#callers += 1;
    for (let next = this.#takeNext(); next; ) {
      await this.#callAbout(...next);
      next = this.#callers <= this.#options.concurrency ? this.#takeNext() : undefined;
    }
    this.#callers -= 1;
  }

  /** The next lookup, of each list in turn. */
  #takeNext(): readonly [domain: string, chunk: ChunkUnderWay] | undefined {
    for (const [list, chunks] of this.#lists) {
      for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
        const domain = chunk.next();
        if (domain === undefined) chunks.shift();
        else {
          if (this.#lists.size > 1 && this.#lists.delete(list)) this.#lists.set(list, chunks);
          return [domain, chunk];
        }
      }
      this.#lists.delete(list);
    }
    return undefined;
  }

  async #callAbout(domain: string, chunk: ChunkUnderWay): Promise<void> {
    try {
      const outcome = await lookUp(domain, this.#options, chunk.bounds);
      if (!outcome) return chunk.ended();
      const replied = chunk.reply([outcome]);
      await replied; // it takes the next domain when there is room for its outcome
      chunk.ended(replied);
    } catch (error) {
      chunk.failed(error);
    } finally {
      this.#lookups -= 1;
      this.#idleIfAllWithheld();
    }
  }

  #onWithheld(isWithheld: boolean): void {
    this.#withheld += isWithheld ? 1 : -1;
    this.#callers += isWithheld ? -1 : 1;
    if (!isWithheld) return;
    this.#startCallers();
    this.#idleIfAllWithheld();
  }

  #idleIfAllWithheld(): void {
    if (this.#withheld === 0) return;
    if (this.#withheld === this.#lookups)
      setImmediate(() => this.#withheld === this.#lookups && this.#options.gate.idle());
    else if (this.#lists.size === 0) void this.#idleWhileSlow();
  }

  /** What is withheld does not wait for a call that takes long. */
  async #idleWhileSlow(): Promise<void> {
    if (this.#isIdlingWhileSlow) return;
    this.#isIdlingWhileSlow = true;
    const { clock, gate, stopSwitch } = this.#options;
    try {
      while (this.#withheld > 0 && this.#withheld < this.#lookups && this.#lists.size === 0) {
        await clock.sleep(SLOW_MS, stopSwitch.noNewCall);
        if (this.#withheld > 0 && this.#lists.size === 0) gate.idle();
      }
    } catch {
      // The run stops, and nothing is withheld any more.
    }
    this.#isIdlingWhileSlow = false;
  }
}

const SLOW_MS = 1_000;

/** A chunk whose lookups are made one by one by free callers. */
class ChunkUnderWay {
  readonly reply: Reply;
  readonly bounds: LookupBounds;
  /**
   * Resolves when all lookups have ended and their outcomes are stored; rejects with the first
   * error.
   */
  readonly settled: Promise<void>;
  readonly #domains: readonly string[];
  #taken = 0;
  #left: number;
  /** Outcomes that are written together share one promise, so the set stays small. */
  readonly #replies = new Set<Promise<void>>();
  #settle = (): void => {};
  #fail = (_: unknown): void => {};

  constructor(domains: readonly string[], reply: Reply, bounds: LookupBounds) {
    this.#domains = domains;
    this.#left = domains.length;
    this.reply = reply;
    this.bounds = bounds;
    this.settled = new Promise((resolve, reject) => {
      this.#settle = () => void Promise.all(this.#replies).then(() => resolve(), reject);
      this.#fail = reject;
    });
  }

  /** The next domain; undefined when all have been handed out. */
  next(): string | undefined {
    const domain = this.#domains[this.#taken];
    this.#taken += 1;
    return domain;
  }

  /**
   * The lookup of a domain has ended.
   *
   * @param replied settles when the outcome is stored. @default there is no outcome
   */
  ended(replied?: Promise<void>): void {
    if (replied && !this.#replies.has(replied)) {
      this.#replies.add(replied);
      replied.catch(this.#fail);
    }
    this.#left -= 1;
    if (this.#left === 0) this.#settle();
  }

  /** The lookup threw an unexpected error. */
  failed(error: unknown): void {
    this.#fail(error);
    this.ended();
  }
}
