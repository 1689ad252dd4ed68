import fastq from 'fastq';
import type { Outcome } from '../brand/outcome.ts';
import type { Chunk, Reply } from '../queue/lookup-queue.ts';
import { createCredentialDoubt } from './credential-doubt.ts';
import {
  type LookupBounds,
  type LookupContext,
  type LookupResult,
  lookUp,
  NOT_ASKED,
} from './lookup.ts';

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
  // Its queue keeps nothing of what has had its turn (docs/architecture.md).
  const turns = fastq.promise(takeTurn, concurrency);
  let underWay = 0;
  const doubt = createCredentialDoubt(() => stopSwitch.stop({ reason: 'forbidden' }));

  async function handleDomain(domain: string, reply: Reply, bounds: LookupBounds): Promise<void> {
    underWay += 1;
    const turn: Turn = { domain, reply, bounds, replied: undefined };
    let result: LookupResult = NOT_ASKED;
    let isBelieved: boolean | Promise<boolean> = false;
    try {
      result = await turns.push(turn);
      isBelieved = result.kind !== 'not_asked' && believe(result);
    } finally {
      underWay -= 1;
      if (underWay === 0) {
        doubt.idle();
        preflight.idle();
      }
    }
    if (turn.replied) return await turn.replied;
    if (result.kind !== 'not_asked' && (await isBelieved)) await reply([result.outcome]);
  }

  // Async, for what it throws at once would keep its caller for ever.
  async function takeTurn(turn: Turn): Promise<LookupResult> {
    const { domain, reply, bounds } = turn;
    const result = await lookUp(domain, context, bounds);
    if (!holdsCallers) return result;
    if (result.kind === 'outcome' && preflight.isOpen) turn.replied = reply([result.outcome]);
    await turn.replied;
    return result;
  }

  /** Whether an outcome is about its domain, which may only show with those of others. */
  function believe({ kind, outcome }: AskedResult): boolean | Promise<boolean> {
    if (kind === 'forbidden') return doubt.forbidden();
    if (CREDENTIAL_WORKS.has(outcome.status)) doubt.success();
    return preflight.isOpen || preflight.verdict();
  }

  return {
    handle: async ({ domains, allowance, counters }, reply, isWanted) => {
      const bounds = { allowance, counters, isWanted };
      await Promise.all(domains.map((domain) => handleDomain(domain, reply, bounds)));
    },
  };
}

/** A domain that waits for a caller. */
interface Turn {
  readonly domain: string;
  readonly reply: Reply;
  readonly bounds: LookupBounds;
  /** Set where the caller was held until the outcome was kept. */
  replied: Promise<void> | undefined;
}

type AskedResult = Exclude<LookupResult, { readonly kind: 'not_asked' }>;

/** Answers that nobody gets whose credential is refused. */
const CREDENTIAL_WORKS: ReadonlySet<Outcome['status']> = new Set(['found', 'not_found']);
