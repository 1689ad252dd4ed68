import { describe, expect, it } from 'vitest';
import type { OutcomeStatus } from '../../src/brand/outcome.ts';
import { type KnownOutcome, type Settled, settle } from '../../src/run/two-apis.ts';

const fresh = (status: OutcomeStatus): KnownOutcome => ({ status, isUsable: true });
const old = (status: OutcomeStatus): KnownOutcome => ({ status, isUsable: false });
const BY_FIRST: Settled = { by: 'first', dueAt: undefined };
const BY_SECOND: Settled = { by: 'second', dueAt: undefined };
const ASK_FIRST: Settled = { by: 'first', dueAt: 'first' };
const ASK_SECOND: Settled = { by: 'second', dueAt: 'second' };

describe('settle', () => {
  it.each([
    [undefined, undefined, ASK_FIRST],
    [old('found'), undefined, ASK_FIRST],
    [old('not_found'), undefined, ASK_FIRST],
    [fresh('found'), undefined, BY_FIRST],
    // The first is asked before the second, so its word counts more.
    [fresh('found'), fresh('found'), BY_FIRST],
    [fresh('rejected'), fresh('found'), BY_FIRST],
    [fresh('failed'), fresh('not_found'), BY_FIRST],
    [fresh('pending'), old('found'), BY_FIRST],
    [fresh('not_found'), undefined, ASK_SECOND],
    [fresh('not_found'), old('found'), ASK_SECOND],
    [fresh('not_found'), old('failed'), ASK_SECOND],
    [fresh('not_found'), fresh('found'), BY_SECOND],
    [fresh('not_found'), fresh('not_found'), BY_SECOND],
    [fresh('not_found'), fresh('failed'), BY_SECOND],
    // A row with a fresh answer needs no call.
    [undefined, fresh('found'), BY_SECOND],
    [old('not_found'), fresh('found'), BY_SECOND],
    [old('found'), fresh('found'), BY_SECOND],
    [old('not_found'), fresh('not_found'), ASK_FIRST],
    [old('not_found'), old('found'), ASK_FIRST],
  ])('of %j and %j: %j', (first, second, expected) => {
    expect(
      settle(
        first,
        () => second,
        (status) => status === 'not_found',
      ),
    ).toEqual(expected);
  });

  it('passes on what it is told to', () => {
    const settled = (first: OutcomeStatus): Settled =>
      settle(
        fresh(first),
        () => undefined,
        (status) => status !== 'found',
      );
    expect([settled('found'), settled('rejected')]).toEqual([BY_FIRST, ASK_SECOND]);
  });

  it('does not look at the second where the first has settled it', () => {
    const look = (): never => {
      throw new Error('was looked at');
    };
    expect(settle(fresh('found'), look, () => false)).toEqual(BY_FIRST);
  });
});
