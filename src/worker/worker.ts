import type { Chunk, Reply } from '../calls/lookup-queue.ts';
import { type LookupBounds, type LookupContext, lookUp } from './lookup.ts';

/** Turns chunks into outcomes. */
export interface Worker {
  /**
   * Looks up every domain of a chunk and replies with each outcome as it comes. Domains that were
   * not asked because the run stopped have no outcome. Several chunks may be handled at once.
   *
   * @param isWanted asked just before each lookup. False spares it. @default always true
   */
  handle(chunk: Chunk, reply: Reply, isWanted?: (domain: string) => boolean): Promise<void>;
}

export interface WorkerOptions extends LookupContext {
  /** Lookups under way at the same time, over all chunks. */
  readonly concurrency: number;
}

/**
 * A lookup begins when a caller is free for it; until then it is a name in its chunk. A lookup
 * whose answer is withheld until others tell more keeps no caller.
 */
export function createWorker({ concurrency, ...context }: WorkerOptions): Worker {
  /** Chunks by the lists that they are of; the list whose turn it is comes first. */
  const lists = new Map<unknown, ChunkUnderWay[]>();
  let callers = 0;
  let withheld = 0;
  let lookups = 0;
  let isLooking = false;

  function onWithheld(isWithheld: boolean): void {
    withheld += isWithheld ? 1 : -1;
    callers += isWithheld ? -1 : 1;
    if (!isWithheld) return;
    startCallers();
    idleIfAllHeld();
  }

  function idleIfAllHeld(): void {
    if (withheld > 0 && withheld === lookups)
      setImmediate(() => withheld === lookups && context.gate.idle());
    else if (withheld > 0 && lists.size === 0) void idleWhileSlow();
  }

  /** What is withheld does not wait for a call that takes long. */
  async function idleWhileSlow(): Promise<void> {
    if (isLooking) return;
    isLooking = true;
    const { clock, gate, stopSwitch } = context;
    try {
      while (withheld > 0 && withheld < lookups && lists.size === 0) {
        await clock.sleep(SLOW_MS, stopSwitch.noNewCall);
        if (withheld > 0 && lists.size === 0) gate.idle();
      }
    } catch {
      // The run stops, and nothing is withheld any more.
    }
    isLooking = false;
  }

  function startCallers(): void {
    while (lists.size > 0 && callers < concurrency) void startCaller();
  }

  /** The next lookup, of each list in turn. */
  function takeNext(): readonly [domain: string, chunk: ChunkUnderWay] | undefined {
    for (const [list, chunks] of lists) {
      for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
        const domain = chunk.next();
        if (domain === undefined) chunks.shift();
        else {
          if (lists.size > 1 && lists.delete(list)) lists.set(list, chunks);
          return [domain, chunk];
        }
      }
      lists.delete(list);
    }
    return undefined;
  }

  /** A caller goes from domain to domain until none is left. */
  async function startCaller(): Promise<void> {
    callers += 1;
    for (let next = takeNext(); next; next = callers <= concurrency ? takeNext() : undefined) {
      await callAbout(...next);
    }
    callers -= 1;
  }

  async function callAbout(domain: string, chunk: ChunkUnderWay): Promise<void> {
    try {
      const outcome = await lookUp(domain, context, chunk.bounds);
      if (!outcome) return chunk.ended();
      const replied = chunk.reply([outcome]);
      await replied; // it takes the next domain when there is room for its outcome
      chunk.ended(replied);
    } catch (error) {
      chunk.failed(error);
    } finally {
      lookups -= 1;
      idleIfAllHeld();
    }
  }

  return {
    handle: async ({ domains, budget, list }, reply, isWanted) => {
      if (domains.length === 0) return;
      const bounds = { budget, isWanted, onWithheld, list };
      const chunk = createChunkUnderWay(domains, { reply, bounds });
      lookups += domains.length;
      lists.set(list, [...(lists.get(list) ?? []), chunk]);
      startCallers();
      await chunk.settled;
    },
  };
}

const SLOW_MS = 1_000;

/** A chunk whose lookups are made one by one by free callers. */
interface ChunkUnderWay {
  readonly reply: Reply;
  readonly bounds: LookupBounds;
  /** The next domain; undefined when all have been handed out. */
  next(): string | undefined;
  /**
   * The lookup of a domain has ended.
   *
   * @param replied settles when the outcome is stored. @default there is no outcome
   */
  ended(replied?: Promise<void>): void;
  /** The lookup threw an unexpected error. */
  failed(error: unknown): void;
  /**
   * Resolves when all lookups have ended and their outcomes are stored; rejects with the first
   * error.
   */
  readonly settled: Promise<void>;
}

function createChunkUnderWay(
  domains: readonly string[],
  { reply, bounds }: Pick<ChunkUnderWay, 'reply' | 'bounds'>,
): ChunkUnderWay {
  let taken = 0;
  let left = domains.length;
  // Outcomes that are written together share one promise, so the set stays small.
  const replies = new Set<Promise<void>>();
  let settle = (): void => {};
  let fail = (_: unknown): void => {};
  const settled = new Promise<void>((resolve, reject) => {
    settle = () => void Promise.all(replies).then(() => resolve(), reject);
    fail = reject;
  });

  function ended(replied?: Promise<void>): void {
    if (replied && !replies.has(replied)) {
      replies.add(replied);
      replied.catch(fail);
    }
    left -= 1;
    if (left === 0) settle();
  }

  return {
    reply,
    bounds,
    next: () => {
      const domain = domains[taken];
      taken += 1;
      return domain;
    },
    ended,
    failed: (error) => {
      fail(error);
      ended();
    },
    settled,
  };
}
