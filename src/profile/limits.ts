import type { ResponseHeaders } from '../brand/exchange.ts';
import { findLimits, type Limits, type Reading } from '../brand/limit-headers/find-limits.ts';
import { combinePolicies, type Policy } from '../brand/limit-headers/policy.ts';
import { fieldText, findNumber, findWaitMs } from '../brand/limit-headers/time.ts';
import { HOUR_MS } from '../common/format.ts';
import { parseDuration } from '../options/kinds.ts';
import type { WindowFile } from './profile-schema.ts';

/** A longer window, such as a day, is a quota and sets no pace; what is left of it still counts. */
const LONGEST_PACE_MS = HOUR_MS;

/**
 * Reads the limits that an API states in headers of its own, one window beside the other. Where an
 * answer has none of them, the headers that everybody knows count. `Retry-After` always does.
 */
export function compileLimits(
  windows: readonly WindowFile[],
): (headers: ResponseHeaders, reading: Reading) => Limits | undefined {
  const readers = windows.map(compileWindow);
  return (headers, reading) => {
    const known = findLimits(headers, reading);
    const limits = combinePolicies(readers.map((read) => read(headers, reading)));
    return limits ? { ...known, limits } : known;
  };
}

function compileWindow(
  { per, limit, remaining, reset, unit = 's', member }: WindowFile,
  at: number,
): (headers: ResponseHeaders, reading: Reading) => Policy {
  const perMs = per === undefined ? undefined : parseDuration(per);
  const setsPace = perMs !== undefined && perMs > 0 && perMs <= LONGEST_PACE_MS;
  const inMember = member === undefined ? (text: string) => text.trim() : memberReader(member);
  const textOf = (headers: ResponseHeaders, name: string | undefined): string =>
    name === undefined ? '' : fieldText(headers[name.toLowerCase()]);
  const numberOf = (headers: ResponseHeaders, name: string | undefined): number | undefined => {
    const number = findNumber(inMember(textOf(headers, name)));
    return number === undefined ? undefined : Math.floor(number);
  };
  return (headers, reading) => {
    const count = setsPace ? numberOf(headers, limit) : undefined;
    const resetText = textOf(headers, reset);
    return {
      name: `window ${at}`,
      unit: 'requests',
      quota: count && perMs ? { count, perMs } : undefined,
      concurrent: undefined,
      remaining: numberOf(headers, remaining),
      // A reset may be a member of an object as well, or one for all windows.
      resetMs: findWaitMs(inMember(resetText) || resetText, reading, { unit }),
    };
  };
}

/** Finds the number of a member in an object such as `{'minute': 100}`, in whatever quotes. */
function memberReader(member: string): (text: string) => string {
  const name = member.replaceAll(/[^\w-]/g, String.raw`\$&`);
  const pattern = new RegExp(String.raw`["']?\b${name}\b["']?\s*[:=]\s*["']?(\d+(?:\.\d+)?)`, 'i');
  return (text) => pattern.exec(text)?.[1] ?? '';
}
