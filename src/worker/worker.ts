import type { Chunk, Reply } from '../queue/lookup-queue.ts';
import type { Belief } from './credence.ts';
import { type LookupBounds, type LookupContext, type LookupResult, lookUp } from './lookup.ts';

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

export function createWorker({ concurrency, ...context }: WorkerOptions): Worker {
  const { credence } = context;
  const chunks: ChunkUnderWay[] = [];
  let callers = 0;
  let lookups = 0;

  /** A caller goes from domain to domain until none is left. */
  async function startCaller(): Promise<void> {
    callers += 1;
    for (let chunk = chunks[0]; chunk; chunk = chunks[0]) {
      const domain = chunk.next();
      if (domain === undefined) chunks.shift();
      else await callAbout(domain, chunk);
    }
    callers -= 1;
  }

  async function callAbout(domain: string, chunk: ChunkUnderWay): Promise<void> {
    try {
      const result = await lookUp(domain, context, chunk.bounds);
      if (result.kind === 'not_asked') return chunk.ended();
      const belief = credence.believe(result.answer, domain);
      const replied =
        belief === 'kept'
          ? chunk.reply([result.outcome])
          : replyOnceBelieved(belief, result, chunk.reply);
      if (belief === 'kept') await replied; // it takes the next domain when there is room for its outcome
      chunk.ended(replied);
    } catch (error) {
      chunk.failed(error);
    } finally {
      lookups -= 1;
      if (lookups === 0) credence.idle();
    }
  }

  return {
    handle: async ({ domains, budget, counters }, reply, isWanted) => {
      if (domains.length === 0) return;
      const bounds = { budget, counters, isWanted };
      const chunk = createChunkUnderWay(domains, { reply, bounds });
      lookups += domains.length;
      chunks.push(chunk);
      while (chunks.length > 0 && callers < concurrency) void startCaller();
      await chunk.settled;
    },
  };
}

/** Replies with the outcome once it is believed, or with what is left of it. */
async function replyOnceBelieved(
  belief: Promise<Belief>,
  { outcome, answer }: AskedResult,
  reply: Reply,
): Promise<void> {
  const became = await belief;
  if (became === 'dropped') return;
  if (became === 'kept') return await reply([outcome]);
  await reply([{ ...outcome, status: 'failed', reason: `gateway_${answer.writer?.form}` }]);
}

type AskedResult = Extract<LookupResult, { readonly kind: 'outcome' }>;

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
