/** How a call ended, as its caller sees it. */
type Ending = 'answered' | 'faulted' | 'throttled' | 'refused';

const REPEATS_LISTED = 100;

/**
 * Counts calls. All counts are kept up to date call by call, so a snapshot costs next to nothing.
 */
export class CallCounter {
  readonly #domains = new Map<string, DomainCalls & { admitted: number }>();
  readonly #byStatus = new Map<number, number>();
  readonly #repeats: string[] = [];
  #totals = createTotals();
  #open = 0;

  get charged(): number {
    return this.#totals.charged;
  }

  /** A call came in. `domain` is `undefined` when it named no valid one. */
  arrive(domain: string | undefined, nowMs: number): void {
    const totals = this.#totals;
    totals.calls += 1;
    totals.firstMs ??= nowMs;
    totals.lastMs = nowMs;
    if (domain === undefined) return;
    totals.mostCalls = Math.max(totals.mostCalls, this.#add(domain, 'calls'));
  }

  /** A call passed every check. Returns its ordinal for the domain, from 1. */
  admit(domain: string): number {
    this.#open += 1;
    this.#totals.highestOpen = Math.max(this.#totals.highestOpen, this.#open);
    return this.#add(domain, 'admitted');
  }

  /** An admitted call is over, however it ended. */
  leave(): void {
    this.#open -= 1;
  }

  charge(amount: number): void {
    this.#totals.charged += amount;
  }

  abandon(): void {
    this.#totals.abandoned += 1;
  }

  /** An answer is sent; status 0 stands for none. */
  answer(domain: string | undefined, status: number, broken: boolean): void {
    if (status === 0) this.#totals.unanswered += 1;
    else this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
    const ending = endingOf(status, broken);
    if (ending === 'faulted') this.#totals.faulted += 1;
    if (domain === undefined || ending === 'refused') return;
    const count = this.#add(domain, ending);
    if (ending === 'answered' && count === 2) this.#repeat(domain);
  }

  snapshot(): SandboxStats {
    const { calls, faulted, unanswered, abandoned, charged } = this.#totals;
    return {
      calls,
      byStatus: Object.fromEntries(this.#byStatus),
      throttled: this.#byStatus.get(429) ?? 0,
      faulted,
      unanswered,
      abandoned,
      charged,
      domains: {
        distinct: this.#domains.size,
        mostCalls: this.#totals.mostCalls,
        repeated: this.#totals.repeated,
        repeats: this.#repeats.map((domain) => ({ domain, ...this.of(domain) })),
      },
      concurrency: { now: this.#open, highest: this.#totals.highestOpen },
      firstCallAt: toIso(this.#totals.firstMs),
      lastCallAt: toIso(this.#totals.lastMs),
    };
  }

  of(domain: string): DomainCalls {
    const { calls, answered, faulted, throttled } = this.#domains.get(domain) ?? NONE;
    return { calls, answered, faulted, throttled };
  }

  /** Forget everything but the calls that are open. */
  clear(): void {
    this.#domains.clear();
    this.#byStatus.clear();
    this.#repeats.length = 0;
    this.#totals = createTotals();
    this.#totals.highestOpen = this.#open;
  }

  /** Adds one to a count of a domain and returns it. */
  #add(domain: string, count: keyof typeof NONE): number {
    let counts = this.#domains.get(domain);
    if (!counts) {
      counts = { ...NONE };
      this.#domains.set(domain, counts);
    }
    counts[count] += 1;
    return counts[count];
  }

  #repeat(domain: string): void {
    this.#totals.repeated += 1;
    if (this.#repeats.length < REPEATS_LISTED) this.#repeats.push(domain);
  }
}

const createTotals = () => ({
  calls: 0,
  faulted: 0,
  unanswered: 0,
  abandoned: 0,
  charged: 0,
  repeated: 0,
  mostCalls: 0,
  highestOpen: 0,
  firstMs: undefined as number | undefined,
  lastMs: undefined as number | undefined,
});

function endingOf(status: number, broken: boolean): Ending {
  if (status === 429) return 'throttled';
  if (broken || status === 0 || status >= 500 || status === 408 || status === 425) return 'faulted';
  return status === 401 || status === 402 || status === 403 ? 'refused' : 'answered';
}

function toIso(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}

/**
 * The sandbox's counts for one domain. Calls that are in no other count were refused, abandoned or
 * are still open.
 */
export interface DomainCalls {
  /** All calls that named it. */
  calls: number;
  /** Calls with a final answer: a later call for the domain is a duplicate. */
  answered: number;
  /**
   * Calls that ended in a server fault, a timeout status, or an unusable answer: a reason to call
   * again.
   */
  faulted: number;
  /** Calls answered 429. */
  throttled: number;
}

const NONE = { calls: 0, admitted: 0, answered: 0, faulted: 0, throttled: 0 };

/** The sandbox's counts since it started or was reset. Only calls to the brand endpoint count. */
export interface SandboxStats {
  /** All calls, refused ones included. */
  calls: number;
  /** Number of answers sent, by status. */
  byStatus: Record<string, number>;
  /** Calls answered 429. */
  throttled: number;
  /** Calls that ended in a server fault or an unusable answer. */
  faulted: number;
  /** Calls that got no answer: the sandbox reset the connection, or never meant to answer. */
  unanswered: number;
  /** Calls whose caller left before the answer was due. */
  abandoned: number;
  /**
   * Calls answered 200 or 404, or what answers say that they are charged: what the quota counts.
   */
  charged: number;
  domains: {
    /** Different domains asked for (valid ones). */
    distinct: number;
    /** The most calls for one domain, of any outcome. */
    mostCalls: number;
    /** Domains that got more than one final answer (see {@link DomainCalls.answered}). */
    repeated: number;
    /** The first 100 of these domains. */
    repeats: ({ domain: string } & DomainCalls)[];
  };
  /** Calls being worked on. A call without latency is answered before the next is read. */
  concurrency: { now: number; highest: number };
  /** Time of the first call, ISO 8601, or `null` before it. */
  firstCallAt: string | null;
  lastCallAt: string | null;
}
