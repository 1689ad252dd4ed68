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
   */
  handle(chunk: Chunk, reply: Reply): Promise<void>;
}

export interface WorkerOptions extends LookupContext {
  /** Lookups under way at the same time, over all chunks. */
  readonly concurrency: number;
  /**
   * Asked at the last moment: false spares the lookup, because somebody else has made it meanwhile.
   * @default always true
   */
  readonly isWanted?: (domain: string) => boolean;
}

export function createWorker({ concurrency, isWanted, ...context }: WorkerOptions): Worker {
  const { stopSwitch } = context;
  const limit = pLimit(concurrency);
  let underWay = 0;
  const doubt = createCredentialDoubt(() => stopSwitch.stop({ reason: 'forbidden' }));

  async function handleDomain(domain: string, reply: Reply): Promise<void> {
    const outcome = await settle(domain);
    // Not awaited here, or the whole answer would stay in memory until it is committed.
    return outcome && reply([outcome]);
  }

  async function settle(domain: string): Promise<Outcome | undefined> {
    underWay += 1;
    const result = await limit(() =>
      isWanted?.(domain) === false ? NOT_ASKED : lookUp(domain, context),
    );
    underWay -= 1;
    const isAboutDomain = result.kind === 'forbidden' ? doubt.forbidden() : undefined;
    if (result.kind === 'outcome' && CREDENTIAL_WORKS.has(result.outcome.status)) doubt.success();
    if (underWay === 0) doubt.idle();
    if (result.kind === 'not_asked' || (await isAboutDomain) === false) return undefined;
    return result.outcome;
  }

  return {
    handle: async (chunk, reply) => {
      await Promise.all(chunk.domains.map((domain) => handleDomain(domain, reply)));
    },
  };
}

const NOT_ASKED: LookupResult = { kind: 'not_asked' };

/** Answers that nobody gets whose credential is refused. */
const CREDENTIAL_WORKS: ReadonlySet<Outcome['status']> = new Set(['found', 'not_found']);
