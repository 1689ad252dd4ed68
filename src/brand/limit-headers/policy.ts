import { type InnerList, type Item, parseDictionary, parseList, Token } from 'structured-headers';
import { MOST_MEMBERS } from './field.ts';
import { YEAR_MS } from './time.ts';

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
export function parsePolicies(text: string): readonly Policy[] {
  const members = findList(text);
  if (members) return members.slice(0, MOST_MEMBERS).map(policyOf);
  const older = findOlderForm(text);
  return older ? [older] : [];
}

function findList(text: string): readonly (Item | InnerList)[] | undefined {
  try {
    return parseList(text);
  } catch {
    return undefined;
  }
}

function policyOf([value, parameters]: Item | InnerList): Policy {
  const unit = unitOf(parameters.get('qu'));
  // In older drafts the quota is the member itself.
  const count =
    amountOf(parameters.get('q')) ?? (Array.isArray(value) ? undefined : amountOf(value));
  const perMs = millisecondsOf(parameters.get('w') ?? parameters.get('window'));
  const remaining = amountOf(parameters.get('r'));
  const resetMs = millisecondsOf(parameters.get('t'));
  const isRate = unit === 'requests' && count && perMs && perMs <= YEAR_MS;
  return {
    name: textOf(value),
    unit,
    quota: isRate ? { count, perMs } : undefined,
    concurrent: unit === 'concurrent' && count && count >= 1 ? Math.floor(count) : undefined,
    remaining: remaining === undefined ? undefined : Math.floor(remaining),
    resetMs: resetMs === undefined ? undefined : Math.min(resetMs, YEAR_MS),
  };
}

/** `limit=100, remaining=50, reset=5`. The window is stated in another field. */
function findOlderForm(text: string): Policy | undefined {
  try {
    const fields = parseDictionary(text);
    const remaining = amountOf(fields.get('remaining')?.[0]);
    const resetMs = millisecondsOf(fields.get('reset')?.[0]);
    return {
      name: '',
      unit: 'requests',
      quota: undefined,
      concurrent: undefined,
      remaining: remaining === undefined ? undefined : Math.floor(remaining),
      resetMs: resetMs === undefined ? undefined : Math.min(resetMs, YEAR_MS),
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

function millisecondsOf(seconds: unknown): number | undefined {
  const amount = amountOf(seconds);
  return amount === undefined ? undefined : amount * 1_000;
}
