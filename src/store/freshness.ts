import { fmix32, fnv1a } from '../common/fnv1a.ts';
import type { OutcomeHead } from './outcome-codec.ts';

/** How long outcomes count, in milliseconds. */
export interface Freshness {
  /** Of `found`. */
  readonly foundMs: number;
  readonly notFoundMs: number;
  readonly rejectedMs: number;
  /** By how much less of it an outcome may count, from 0 to 1: see {@link isFresh}. */
  readonly jitter: number;
}

/** What tells whether an outcome is fresh. */
export type Dated = Pick<OutcomeHead, 'status' | 'fetchedAtMs'>;

/** The run that wants to know. */
export interface FreshnessContext {
  readonly freshness: Freshness;
  /** When it started, in milliseconds since 1970. */
  readonly startedAtMs: number;
  /** The time of the run, which nothing that it fetched is dated after. */
  readonly nowMs: number;
}

/**
 * Whether the outcome of a domain need not be asked again by a run that started at `startedAtMs`.
 * What this run fetched itself is always fresh. The time of asking plays no part otherwise: a long run
 * sees no outcome expire under its hands.
 *
 * What is dated in the future was fetched by a clock that was wrong by at least as much, so it counts
 * as that old: an hour ahead it is fresh, years ahead it is not.
 *
 * What was fetched in one night would fall due in one night. So each outcome falls due at a moment of
 * its own between `1 - jitter` of its duration and the whole of it, never later. The moment is a hash
 * of the domain and of the time of fetching. Of the domain alone, those that fell due in one night
 * would stay together for ever, and some nights would meet several such groups; with the time they
 * part again, and after some rounds every night has about the same share.
 */
export function isFresh(
  domain: string,
  { status, fetchedAtMs }: Dated,
  { freshness, startedAtMs, nowMs }: FreshnessContext,
): boolean {
  if (fetchedAtMs >= startedAtMs && fetchedAtMs <= nowMs) return true;
  if (status === 'failed') return false;
  const { jitter } = freshness;
  const countsMs = durationOf(status, freshness);
  const ageMs = Math.abs(startedAtMs - fetchedAtMs);
  if (ageMs >= countsMs) return false;
  // Most are spared the hash.
  if (ageMs < countsMs * (1 - jitter)) return true;
  return ageMs < countsMs * (1 - jitter * fractionOf(domain, fetchedAtMs));
}

function durationOf(status: 'found' | 'not_found' | 'rejected', freshness: Freshness): number {
  if (status === 'found') return freshness.foundMs;
  return status === 'not_found' ? freshness.notFoundMs : freshness.rejectedMs;
}

/** From 0 to below 1, by chance but always the same. */
function fractionOf(domain: string, fetchedAtMs: number): number {
  const seed = (fetchedAtMs | 0) ^ Math.floor(fetchedAtMs / 2 ** 32);
  return fmix32(fnv1a(domain, seed)) / 2 ** 32;
}
