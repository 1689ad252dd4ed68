import type { StatusCounts } from '../../watch/summary.ts';

/** The name and the meaning of a row's status. */
export interface StatusWords {
  readonly name: string;
  readonly meaning: string;
}

/** All statuses, in the order in which they are shown. */
export const STATUSES: Readonly<Record<keyof StatusCounts, StatusWords>> = {
  found: { name: 'found', meaning: 'enriched' },
  stale: { name: 'stale', meaning: 'not learned this time; the values of an older answer stay' },
  not_found: { name: 'not found', meaning: 'the API does not know the domain' },
  rejected: { name: 'rejected', meaning: 'the API refused the domain' },
  failed: { name: 'failed', meaning: 'no usable answer, however often it was tried' },
  pending: { name: 'pending', meaning: 'accepted by the API, no answer ready yet' },
  invalid: { name: 'invalid', meaning: 'no domain in the row; nothing was asked' },
  skipped: { name: 'skipped', meaning: 'not asked; the run stopped first' },
};

/** `1,204`. */
export function number(amount: number, digits = 0): string {
  return amount.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** `1,204 rows`, `1 row`. */
export function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}

/** `68 %`, `0.4 %`, `< 0.1 %`; empty for a share of nothing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent > 99.9 && percent < 100) return '> 99.9 %';
  return `${number(percent, percent < 10 || percent > 99 ? 1 : 0)} %`;
}

/** `2026-11-21 02:30:00 UTC`. */
export function time(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** `0.8 ms`, `120 ms`, `4.2 s`, `61 s`. */
export function latency(ms: number): string {
  if (ms < 10) return `${number(ms, 1)} ms`;
  if (ms < 1_000) return `${number(ms)} ms`;
  return `${number(ms / 1_000, ms < 10_000 ? 1 : 0)} s`;
}
