import type { DomainCalls } from './domain-counts.ts';

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
  /** Calls answered 200 or 404: those that the quota counts. */
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
  /** Calls in the busiest second of the clock. */
  busiestSecond: number;
  /** Time of the first call, ISO 8601, or `null` before it. */
  firstCallAt: string | null;
  lastCallAt: string | null;
}
