import type { Outcome } from '../brand/outcome.ts';
import type { Chunk, Reply } from '../queue/lookup-queue.ts';
import { type ChunkUnderWay, createChunkUnderWay } from './chunk-under-way.ts';
import { createCredentialDoubt } from './credential-doubt.ts';
import { type LookupContext, type LookupResult, lookUp } from './lookup.ts';

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
  /**
   * Whether a caller waits until its last outcome is stored before it makes its next call. This
   * takes a little longer, but a process that is killed loses no more than the calls it had under
   * way.
   *
   * @default false
   */
  readonly holdsCallers?: boolean;
}

export function createWorker({
  concurrency,
  holdsCallers = false,
  ...context
}: WorkerOptions): Worker {
  const { stopSwitch, preflight } = context;
  const chunks: ChunkUnderWay[] = [];
  let callers = 0;
  let lookups = 0;
  const doubt = createCredentialDoubt(() => stopSwitch.stop({ reason: 'forbidden' }));

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
      const replied = tell(result, chunk.reply);
      if (holdsCallers && result.kind === 'outcome' && preflight.isOpen) await replied;
      chunk.ended(replied);
    } catch (error) {
      chunk.failed(error);
    } finally {
      lookups -= 1;
      if (lookups === 0) {
        doubt.idle();
        preflight.idle();
      }
    }
  }

  /** Replies with the outcome once it is believed. */
  function tell(result: LookupResult, reply: Reply): Promise<void> | undefined {
    if (result.kind === 'not_asked') return undefined;
    // Nothing is held against anybody by a lookup that is asked again.
    const isBelieved = result.outcome.status === 'pending' || believe(result);
    return isBelieved === true ? reply([result.outcome]) : replyIf(isBelieved, result, reply);
  }

  /** Whether an outcome is about its domain. That may only become clear from later outcomes. */
  function believe({ kind, outcome }: AskedResult): boolean | Promise<boolean> {
    if (kind === 'forbidden') return doubt.forbidden();
    if (CREDENTIAL_WORKS.has(outcome.status)) doubt.success();
    return preflight.isOpen || preflight.verdict();
  }

  return {
    handle: async ({ domains, allowance, counters }, reply, isWanted) => {
      if (domains.length === 0) return;
      const bounds = { allowance, counters, isWanted };
      const chunk = createChunkUnderWay(domains, { reply, bounds });
      lookups += domains.length;
      chunks.push(chunk);
      while (chunks.length > 0 && callers < concurrency) void startCaller();
      await chunk.settled;
    },
  };
}

async function replyIf(
  isBelieved: boolean | Promise<boolean>,
  { outcome }: AskedResult,
  reply: Reply,
): Promise<void> {
  if (await isBelieved) await reply([outcome]);
}

type AskedResult = Exclude<LookupResult, { readonly kind: 'not_asked' }>;

/** Only an accepted credential gets these answers. */
const CREDENTIAL_WORKS: ReadonlySet<Outcome['status']> = new Set(['found', 'not_found']);
