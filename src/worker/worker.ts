import type { Outcome } from '../brand/outcome.ts';
import type { Chunk, Reply } from '../queue/lookup-queue.ts';
import { createCredentialDoubt } from './credential-doubt.ts';
import { createLanes } from './lanes.ts';
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
  const lanes = createLanes(concurrency);
  /** Lookups that were given to a lane or wait for one. */
  let underWay = 0;
  const doubt = createCredentialDoubt(() => stopSwitch.stop({ reason: 'forbidden' }));

  async function ask(domain: string, reply: Reply, isWanted: IsWanted): Promise<Asked> {
    // Those who share a queue may want a chunk back at any time, so they are asked before each call.
    const isStillWanted = holdsCallers ? (): boolean => isWanted(domain) : undefined;
    const result = isWanted(domain) ? await lookUp(domain, context, isStillWanted) : NOT_ASKED;
    const isReplied = result.kind === 'outcome' && preflight.isOpen;
    const replied = isReplied ? reply([result.outcome]) : undefined;
    if (holdsCallers) await replied;
    return { result, replied };
  }

  function settle({ result, replied }: Asked, reply: Reply): Promise<void> | undefined {
    underWay -= 1;
    const isBelieved = result.kind === 'not_asked' ? undefined : believe(result);
    if (underWay === 0) {
      doubt.idle();
      preflight.idle();
    }
    if (result.kind === 'not_asked' || replied) return replied;
    return replyIfBelieved(result.outcome, isBelieved, reply);
  }

  async function replyIfBelieved(
    outcome: Outcome,
    isBelieved: Promise<boolean> | undefined,
    reply: Reply,
  ): Promise<void> {
    if (await isBelieved) await reply([outcome]);
  }

  /** Whether an outcome is about its domain, which may only show with those of others. */
  async function believe({ kind, outcome }: AskedResult): Promise<boolean> {
    if (kind === 'forbidden') return await doubt.forbidden();
    if (CREDENTIAL_WORKS.has(outcome.status)) doubt.success();
    return await preflight.verdict();
  }

  return {
    handle: async (chunk, reply, isWanted = () => true) => {
      underWay += chunk.domains.length;
      await lanes.each(
        chunk.domains,
        (domain) => ask(domain, reply, isWanted),
        (asked) => settle(asked, reply),
      );
    },
  };
}

type IsWanted = (domain: string) => boolean;

const NOT_ASKED: LookupResult = { kind: 'not_asked' };

interface Asked {
  readonly result: LookupResult;
  /** Undefined while it is open whether the outcome is about its domain. */
  readonly replied: Promise<void> | undefined;
}

type AskedResult = Exclude<LookupResult, { readonly kind: 'not_asked' }>;

/** Answers that nobody gets whose credential is refused. */
const CREDENTIAL_WORKS: ReadonlySet<Outcome['status']> = new Set(['found', 'not_found']);
