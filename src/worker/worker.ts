import pLimit from 'p-limit';
import type { Outcome } from '../brand/outcome.ts';
import type { Chunk, Reply } from '../queue/lookup-queue.ts';
import { createCredentialDoubt } from './credential-doubt.ts';
import { type LookupContext, type LookupResult, lookUp } from './lookup.ts';

/** Turns chunks into outcomes. */
export interface Worker {
  /**
   * Looks up every domain of a chunk and replies with each outcome as it comes. Domains that were
   * not asked, because the run stopped, have none. Several chunks may be handled at once.
   *
   * @param isWanted asked at the last moment: false spares the lookup. @default always true
   */
  handle(chunk: Chunk, reply: Reply, isWanted?: (domain: string) => boolean): Promise<void>;
}

export interface WorkerOptions extends LookupContext {
  /** Lookups under way at the same time, over all chunks. */
  readonly concurrency: number;
  /**
   * A caller makes its next call only when its last outcome is kept. It then takes a little longer,
   * but no more is lost with a process that is killed than the calls it had under way.
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
  const limit = pLimit(concurrency);
  let underWay = 0;
  const doubt = createCredentialDoubt(() => stopSwitch.stop({ reason: 'forbidden' }));

  async function handleDomain(domain: string, reply: Reply, isWanted: IsWanted): Promise<void> {
    underWay += 1;
    let replied: Promise<void> | undefined;
    const result = await limit(async () => {
      // Those who share a queue may want a chunk back at any time, so they are asked before each call.
      const isStillWanted = holdsCallers ? (): boolean => isWanted(domain) : undefined;
      const result = isWanted(domain) ? await lookUp(domain, context, isStillWanted) : NOT_ASKED;
      if (result.kind === 'outcome' && preflight.isOpen) replied = reply([result.outcome]);
      if (holdsCallers) await replied;
      return result;
    });
    underWay -= 1;
    const isBelieved = result.kind === 'not_asked' ? undefined : believe(result);
    if (underWay === 0) {
      doubt.idle();
      preflight.idle();
    }
    if (result.kind !== 'not_asked' && !replied && (await isBelieved)) {
      replied = reply([result.outcome]);
    }
    return replied;
  }

  /** Whether an outcome is about its domain, which may only show with those of others. */
  async function believe({ kind, outcome }: AskedResult): Promise<boolean> {
    if (kind === 'forbidden') return await doubt.forbidden();
    if (CREDENTIAL_WORKS.has(outcome.status)) doubt.success();
    return await preflight.verdict();
  }

  return {
    handle: async (chunk, reply, isWanted = () => true) => {
      await Promise.all(chunk.domains.map((domain) => handleDomain(domain, reply, isWanted)));
    },
  };
}

type IsWanted = (domain: string) => boolean;

const NOT_ASKED: LookupResult = { kind: 'not_asked' };

type AskedResult = Exclude<LookupResult, { readonly kind: 'not_asked' }>;

/** Answers that nobody gets whose credential is refused. */
const CREDENTIAL_WORKS: ReadonlySet<Outcome['status']> = new Set(['found', 'not_found']);
