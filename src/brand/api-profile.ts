import type { Limits } from './limits.ts';
import type { ResponseHeaders } from './transport.ts';

/**
 * How one API differs from the standard contract: where it is asked, what its answers mean, and
 * which of its headers state limits. `src/profile` reads it from a file. Where nothing differs
 * there is no profile, and an answer costs no more than without one.
 */
export interface ApiProfile {
  /** Its name for people. */
  readonly name: string;
  /** Where it is asked. `{domain}` stands for the domain, in the path or in a parameter. */
  readonly path: string;
  readonly params: readonly (readonly [name: string, value: string])[];
  /**
   * The body of a POST, as JSON in which `{domain}` stands for the domain.
   *
   * @default calls are GET
   */
  readonly body: string | undefined;
  /**
   * Whether redirects to other hosts lead to signed addresses, which are read without a credential.
   */
  readonly followsSigned: boolean;
  /** Of every call. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** A short hash of all that decides what an outcome is. @default the standard's meanings */
  readonly meaningId: string | undefined;
  /** Where in an answer the record is, as JMESPath. @default the whole answer is the record */
  readonly data: string | undefined;
  /** What its rules say an answer means; undefined when none fits. */
  meaningOf(facts: AnswerFacts): RuleMeaning | undefined;
  /** Finds the record in an answer that was found. @default the whole answer is the record */
  readonly recordOf: ((answer: unknown) => unknown) | undefined;
  /** What its own headers say on limits. @default the headers that everybody knows */
  readonly findLimits?:
    | ((headers: ResponseHeaders, nowMs: number) => Limits | undefined)
    | undefined;
  /** What is billed, if that is known. */
  readonly billing: Billing | undefined;
  /** How many domains are asked about in one call. @default each call asks about one */
  readonly batch?: BatchProfile | undefined;
  /** The documented rate, which calls start at until the API shows another. */
  readonly startRate: { readonly count: number; readonly perMs: number } | undefined;
}

/** What an API bills, in millionths of its unit, so that sums are exact. */
export interface Billing {
  /** Such as `credits`. */
  readonly unit: string;
  /**
   * What an answer costs that is billed and does not say so itself; undefined where only answers
   * say it.
   */
  readonly priceMicros: number | undefined;
  /** Whether answers say what they cost. */
  readonly isStated: boolean;
  /** What an answer says that it cost. */
  statedIn(facts: AnswerFacts): number | undefined;
  /** What an answer cost, `kind` being that of its meaning. */
  costOf(meaning: { readonly kind: string }, facts: AnswerFacts): number;
}

/** How an API is asked about several domains in one call. */
export interface BatchProfile {
  /** The most domains in one call. */
  readonly size: number;
  /** What of such a call counts for the API's limits: the call, or each domain in it. */
  readonly counts: 'calls' | 'domains';
  readonly method: 'GET' | 'POST';
  /** Path and query, from behind the base URL. */
  pathOf(domains: readonly string[]): string;
  /** The body of a POST, as JSON. */
  bodyOf(domains: readonly string[]): string | undefined;
  /**
   * The answers in a reply, by the domains as they were asked. A domain without an answer is not in
   * it. Undefined when the reply has none at all, so that it is judged as a whole.
   */
  answersIn(
    reply: unknown,
    domains: readonly string[],
  ): ReadonlyMap<string, BatchedAnswer> | undefined;
}

/** What a reply to a batch says of one domain. */
export interface BatchedAnswer {
  /**
   * The status that it has of its own.
   *
   * @default that of the reply, or 404 where there is no body
   */
  readonly httpStatus: number | undefined;
  /** What would be the body of an answer about this domain alone. */
  readonly body: unknown;
}

/** One answer, as rules look at it. */
export interface AnswerFacts {
  readonly httpStatus: number;
  /** Header names are in lower case. */
  readonly headers: ResponseHeaders;
  /** The body as JSON; undefined when it is none. */
  readonly json: () => unknown;
  /** When it came, by our clock. */
  readonly nowMs: number;
}

/** What an answer means, in the words of rules. */
export const MEANINGS = [
  'found',
  'not_found',
  'pending',
  'rejected',
  'throttled',
  'quota',
  'unauthorized',
  'retry',
  'failed',
] as const;
export type MeaningName = (typeof MEANINGS)[number];

/** What a rule says that an answer means. */
export interface RuleMeaning {
  readonly means: MeaningName;
  /** How long to wait, in milliseconds, where the rule says so. */
  readonly waitMs?: number | undefined;
  /** What the answer says, where the rule finds it. */
  readonly said?: string | undefined;
  /** The rule that fits, from 1. */
  readonly rule: number;
  /**
   * Whether a header or the body decided, too. A status alone may come from a gateway as well.
   */
  readonly isSure: boolean;
}
