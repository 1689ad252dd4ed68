import { z } from 'zod';
import { isReason } from '../common/reasons.ts';

/** All statuses. The place of each stands in stores. */
export const OUTCOME_STATUSES = ['found', 'not_found', 'rejected', 'failed', 'pending'] as const;

/**
 * How a lookup ended. `pending`: the API has accepted the lookup, and had no answer ready for as
 * long as it was asked again.
 */
export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number];

/** Outcomes by their status, none so far. */
export function createOutcomeCounts(): Record<OutcomeStatus, number> {
  return { found: 0, not_found: 0, rejected: 0, failed: 0, pending: 0 };
}

/**
 * Whether the status of a lookup or a row is an answer about its domain. The others are asked again
 * by the next run, and replace no answer.
 */
export function isAnswer(status: string): status is 'found' | 'not_found' | 'rejected' {
  return status === 'found' || status === 'not_found' || status === 'rejected';
}

const text = { isText: true, type: z.string() };
const count = { isText: false, type: z.int().min(0) };
const httpStatus = { isText: false, type: z.int().min(100).max(999) };

/**
 * What is known of a lookup beside its answer, in the order of files. Each is a member of
 * {@link Outcome} (`none` while nothing is known), has a column in the failures and a member in
 * exported and collected lines, both called `name`, and two bytes in the head of a stored outcome,
 * at `at` (16 and 18 are free): a number, or the length of a text.
 */
export const DETAILS = [
  /** Why it is not `found`: one of our reasons, such as `timeout` or `http_400`. */
  { member: 'reason', name: 'reason', ...text, none: '', at: 20 },
  /** What the API wrote, shortened. */
  { member: 'said', name: 'said', ...text, none: undefined, at: 14 },
  /** Status of the last answer. */
  { member: 'httpStatus', name: 'http_status', ...httpStatus, none: undefined, at: 2 },
  /** Calls made for it, not counting throttled ones or `pending`. */
  { member: 'attempts', name: 'attempts', ...count, none: 0, at: 4 },
] as const;

export type Detail = (typeof DETAILS)[number];
export type Details = {
  readonly [D in Detail as D['member']]: z.output<D['type']> | D['none'];
};

/** Details as they are read. @param find what there is of one; undefined for none */
export function detailsOf(find: (detail: Detail) => unknown): Details {
  const found: Record<string, unknown> = {};
  for (const detail of DETAILS) found[detail.member] = find(detail) ?? detail.none;
  return found as Details;
}

/** How the lookup of one domain ended, and what it brought. */
export interface Outcome extends Details {
  readonly domain: string;
  readonly status: OutcomeStatus;
  /**
   * Calls made for it, with its share of those about several domains. Not stored.
   *
   * @default attempts and throttled ones
   */
  readonly calls?: number | undefined;
  /** Calls that the API refused for the moment (429 and the like). Not stored. @default 0 */
  readonly throttled?: number | undefined;
  /**
   * What its calls cost, in millionths of the unit that the profile names. Not stored.
   *
   * @default 0
   */
  readonly billedMicros?: number | undefined;
  /** When to ask again at the earliest, for `pending`, if the API said so. Not stored. */
  readonly retryAfterMs?: number | undefined;
  /** When it ended, in milliseconds since 1970. */
  readonly fetchedAtMs: number;
  /** The answer as it came, for `found`; empty otherwise. */
  readonly json: string;
}

/** Details where earlier versions kept what the API wrote as the reason. */
export function splitReason(details: Details): Details {
  const { reason, said, httpStatus } = details;
  if (said !== undefined || reason === '' || isReason(reason)) return details;
  const own = httpStatus === undefined ? '' : `http_${httpStatus}`;
  return { ...details, reason: own, said: reason };
}

/** What comes before the answer in a line. A quote within a text has a backslash before it. */
export const ANSWER = ',"answer":';

/**
 * Writes an outcome as one line of JSON, without the line end. The answer comes last, unchanged: if
 * it were parsed and written again, numbers with more digits than JavaScript holds would not
 * survive.
 *
 * @param whose first members of the line @param further its last ones before the answer
 */
export function outcomeLine(
  whose: object,
  outcome: Partial<Details> & Pick<Outcome, 'fetchedAtMs' | 'json'> & { readonly status: string },
  further: object = {},
): string {
  const { status, fetchedAtMs, json } = outcome;
  const details = DETAILS.map(({ member, name }) => [name, outcome[member]] as const);
  const line = JSON.stringify({
    ...whose,
    status,
    ...Object.fromEntries(details.filter(([, value]) => value !== '')),
    fetched_at: new Date(fetchedAtMs).toISOString(),
    ...further,
  });
  return status === 'found' ? `${line.slice(0, -1)}${ANSWER}${onOneLine(json)}}` : line;
}

/** A raw line break in JSON occurs only between tokens, where a space will do as well. */
function onOneLine(json: string): string {
  const text = json.replaceAll(/[\r\n]+/g, ' ').trim();
  // Any other text would break the line.
  return text.startsWith('{') && text.endsWith('}') ? text : JSON.stringify(text);
}

/** Counts of calls so far. */
export interface CallCounters {
  /** HTTP requests made, including throttled ones. */
  calls: number;
  /** Calls that the API refused for the moment (429 and the like). */
  throttled: number;
  /** Calls made here that never reached the API, since there was no connection. */
  unsent: number;
  /** How often lookups were retried after a failure. */
  retries: number;
  /** What the API billed, in millionths of the unit that its profile names; 0 without one. */
  billedMicros: number;
}

/** Calls made, and what they cost, whatever came of them. */
export type CallsMade = Pick<CallCounters, 'calls' | 'throttled' | 'billedMicros'>;

/** Counters at zero. */
export function createCallCounters(): CallCounters {
  return { calls: 0, throttled: 0, unsent: 0, retries: 0, billedMicros: 0 };
}

type CallsOfOutcome = { readonly attempts: number } & Partial<
  Record<'calls' | 'throttled' | 'billedMicros', number | undefined>
>;

/**
 * Adds the calls that an outcome reports, and what they cost. Of calls about several domains each
 * has its share: round the sums.
 */
export function addCallsOf(
  { attempts, throttled = 0, calls = attempts + throttled, billedMicros = 0 }: CallsOfOutcome,
  counters: CallCounters,
): void {
  counters.calls += calls;
  counters.retries += Math.max(0, calls - throttled - 1);
  counters.throttled += throttled;
  counters.billedMicros += billedMicros;
}
