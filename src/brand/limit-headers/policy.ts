import { type InnerList, type Item, parseDictionary, parseList, Token } from 'structured-headers';
import { type LimitHints, LONGEST_STATED_MS } from '../../common/calls.ts';
import { type AnswerTime, findWaitMs, MOST_MEMBERS, waitOfDate, waitOfNumber } from './time.ts';

/** One policy, as far as one field describes it. */
export interface Policy {
  readonly name: string;
  /** The unit that is counted. A policy on anything but calls says nothing about their rate. */
  readonly unit: 'requests' | 'concurrent' | 'other';
  readonly quota: Quota | undefined;
  readonly concurrent: number | undefined;
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
}

/** At most `count` calls in any `perMs` milliseconds. */
export interface Quota {
  readonly count: number;
  readonly perMs: number;
}

/**
 * Reads the policies in `RateLimit`, `RateLimit-Policy` or the older `RateLimit-Limit`: structured
 * lists such as `"burst";q=100;w=60`, `"burst";r=0;t=30` and, in older drafts, `100, 100;w=60` or
 * `limit=100, remaining=50, reset=5`. Any other text has no policies.
 *
 * @see {@link https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ RateLimit header fields for HTTP}
 */
export function parsePolicies(text: string, time: AnswerTime): readonly Policy[] {
  const members = findList(text);
  if (members) return members.slice(0, MOST_MEMBERS).map((member) => policyOf(member, time));
  const older = findOlderForm(text, time);
  return older ? [older] : [];
}

function findList(text: string): readonly (Item | InnerList)[] | undefined {
  try {
    return parseList(text);
  } catch {
    return undefined;
  }
}

function policyOf([value, parameters]: Item | InnerList, time: AnswerTime): Policy {
  const unit = unitOf(parameters.get('qu'));
  // In older drafts the quota is the member itself.
  const count =
    amountOf(parameters.get('q')) ?? (Array.isArray(value) ? undefined : amountOf(value));
  const windowSeconds = amountOf(parameters.get('w') ?? parameters.get('window'));
  const perMs = windowSeconds && windowSeconds * 1_000;
  const remaining = amountOf(parameters.get('r'));
  const isRate = unit === 'requests' && count && perMs && perMs <= LONGEST_STATED_MS;
  return {
    name: textOf(value),
    unit,
    quota: isRate ? { count, perMs } : undefined,
    concurrent: unit === 'concurrent' && count && count >= 1 ? Math.floor(count) : undefined,
    remaining: remaining === undefined ? undefined : Math.floor(remaining),
    resetMs: waitOf(parameters.get('t'), time),
  };
}

/** `limit=100, remaining=50, reset=5`. The window is stated in another field. */
function findOlderForm(text: string, time: AnswerTime): Policy | undefined {
  try {
    const fields = parseDictionary(text);
    const remaining = amountOf(fields.get('remaining')?.[0]);
    return {
      name: '',
      unit: 'requests',
      quota: undefined,
      concurrent: undefined,
      remaining: remaining === undefined ? undefined : Math.floor(remaining),
      resetMs: waitOf(fields.get('reset')?.[0], time),
    };
  } catch {
    return undefined;
  }
}

function unitOf(unit: unknown): Policy['unit'] {
  if (unit === undefined || textOf(unit) === 'requests') return 'requests';
  return textOf(unit) === 'concurrent-requests' ? 'concurrent' : 'other';
}

/** A string or a token, because servers mix them up. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  return value instanceof Token ? value.toString() : '';
}

function amountOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? value : undefined;
}

/** Seconds from now, as the draft has it, or what servers send instead. */
function waitOf(value: unknown, time: AnswerTime): number | undefined {
  if (value instanceof Date) return waitOfDate(value.getTime(), time);
  const amount = amountOf(value);
  return amount === undefined ? findWaitMs(textOf(value), time) : waitOfNumber(amount, time);
}

/**
 * Combines all policies into one that is as strict as the strictest of them. Undefined when they
 * say nothing.
 */
export function combinePolicies(all: readonly Policy[]): LimitHints | undefined {
  let quota: Quota | undefined;
  let concurrent: number | undefined;
  for (const policy of all) {
    if (policy.quota && (!quota || rateOf(policy.quota) < rateOf(quota))) quota = policy.quota;
    if (policy.concurrent !== undefined) {
      concurrent = Math.min(policy.concurrent, concurrent ?? policy.concurrent);
    }
  }
  const { remaining, resetMs } = narrowestOf(withUnits(all));
  if ((quota ?? remaining ?? resetMs ?? concurrent) === undefined) return undefined;
  return {
    ...(quota === undefined ? {} : { quota }),
    ...(remaining === undefined ? {} : { remaining }),
    ...(resetMs === undefined ? {} : { resetMs }),
    ...(concurrent === undefined ? {} : { concurrent }),
  };
}

function rateOf({ count, perMs }: Quota): number {
  return count / perMs;
}

/** Gives each policy the unit that the policy of the same name has in another field. */
function withUnits(policies: readonly Policy[]): readonly Policy[] {
  const units = new Map<string, Policy['unit']>();
  for (const { name, unit } of policies) {
    if (name !== '' && unit !== 'requests') units.set(name, unit);
  }
  if (units.size === 0) return policies;
  return policies.map((policy) => ({ ...policy, unit: units.get(policy.name) ?? policy.unit }));
}

interface Rest {
  readonly remaining: number | undefined;
  readonly resetMs: number | undefined;
}

/**
 * How many calls are left, and until when. Of used-up policies the last to reset counts, else the
 * policy with the fewest calls left.
 */
function narrowestOf(all: readonly Policy[]): Rest {
  // Concurrency permits come back with the answers, not with time.
  const policies = all.filter(({ unit }) => unit !== 'concurrent');
  const usedUp = policies.filter(({ remaining }) => remaining === 0);
  if (usedUp.length > 0) return { remaining: 0, resetMs: latestReset(usedUp) };
  let narrowest: Policy | undefined;
  for (const policy of policies) {
    // A number of bytes or points is not a number of calls.
    if (policy.remaining === undefined || policy.unit !== 'requests') continue;
    if (policy.remaining < (narrowest?.remaining ?? Number.POSITIVE_INFINITY)) narrowest = policy;
  }
  if (narrowest) return narrowest;
  const unstated = policies.filter(({ remaining }) => remaining === undefined);
  return { remaining: undefined, resetMs: latestReset(unstated) };
}

function latestReset(policies: readonly Policy[]): number | undefined {
  let latest: number | undefined;
  for (const { resetMs } of policies) {
    if (resetMs !== undefined) latest = Math.max(resetMs, latest ?? resetMs);
  }
  return latest;
}
