import { expect, it } from 'vitest';
import { createInheritedLookups } from '../../../src/run/lookups/open-lookups.ts';

const STARTED_AT_MS = 1_000;

function shareOf(domain: string, fetchedAtMs: number) {
  const isFresh = (each: string): boolean => each === 'kept.com';
  const inherited = createInheritedLookups({ startedAtMs: STARTED_AT_MS, isFresh });
  inherited.add(['kept.com', 'waiting.com']);
  return inherited.shareOf({ domain, status: 'found', attempts: 2, throttled: 1, fetchedAtMs });
}

it('calls that were made before the run began are not its own', () => {
  expect(shareOf('waiting.com', 999)).toMatchObject({ attempts: 0, throttled: 0 });
  expect(shareOf('waiting.com', 1_000)).toMatchObject({ attempts: 2, throttled: 1 });
});

it('what the earlier run has kept is counted as fresh, and not again', () => {
  expect(shareOf('kept.com', 999)).toBeUndefined();
});

it('an outcome of a lookup of its own counts, also if the clock of its worker is behind', () => {
  expect(shareOf('own.com', 999)).toMatchObject({ attempts: 2, throttled: 1 });
});
