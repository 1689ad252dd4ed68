import { crc32 } from 'node:zlib';
import { isAnswer } from '../calls/outcome.ts';
import type { OutcomeHead } from './entries.ts';

/** How long outcomes stay fresh, in milliseconds. */
export interface Freshness {
  /** For `found`. */
  readonly foundMs: number;
  /** For `not_found` and `rejected`. */
  readonly notFoundMs: number;
  /** The share, from 0 to 1, by which freshness may be shortened: see {@link isFresh}. */
  readonly jitter: number;
}

/** The part of an outcome that freshness depends on. */
export type Dated = Pick<OutcomeHead, 'status' | 'fetchedAtMs'>;

/** The run that asks whether outcomes are fresh. */
export interface FreshnessContext {
  readonly freshness: Freshness;
  /** When it started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The present time of the run. Nothing that it fetched is dated later. */
  readonly nowMs: number;
}

/**
 * Whether the outcome of a domain need not be asked again by a run that started at `startedAtMs`.
 * What the run fetched itself is always fresh. Otherwise age is measured at the start of the run,
 * so that no outcome expires during a long run.
 *
 * An answer dated in the future was fetched by a clock that was ahead. It was paid for, so it is
 * fresh, and counts as fetched when it is first seen.
 *
 * Outcomes fetched in one night would expire in one night. So each outcome expires at its own
 * moment between `1 - jitter` of its duration and the whole of it, never later. The moment is a
 * hash of the domain and the time of fetching. With a hash of the domain alone, domains that once
 * expired in one night would stay together for ever, and some nights would meet several such
 * groups. With the time they spread again, and after some rounds every night has about the same
 * share.
 */
export function isFresh(
  domain: string,
  { status, fetchedAtMs }: Dated,
  { freshness, startedAtMs, nowMs }: FreshnessContext,
): boolean {
  if (fetchedAtMs >= startedAtMs && fetchedAtMs <= nowMs) return true;
  if (!isAnswer(status)) return false;
  const { jitter } = freshness;
  const countsMs = status === 'found' ? freshness.foundMs : freshness.notFoundMs;
  const ageMs = Math.max(0, startedAtMs - fetchedAtMs);
  if (ageMs >= countsMs) return false;
  // Most outcomes are spared the hash.
  if (ageMs < countsMs * (1 - jitter)) return true;
  return ageMs < countsMs * (1 - jitter * fractionOf(domain, fetchedAtMs));
}

/**
 * From 0 to below 1, pseudo-random but repeatable. A checksum alone would keep domains together.
 */
function fractionOf(domain: string, fetchedAtMs: number): number {
  const sum = crc32(domain) ^ crc32(String(fetchedAtMs));
  const mixed = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);
  return (Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0) / 2 ** 32;
}
