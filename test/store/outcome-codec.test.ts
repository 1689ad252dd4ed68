import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome, OutcomeStatus } from '../../src/brand/outcome.ts';
import { decodeHead, decodeOutcome, encodeOutcome } from '../../src/store/outcome-codec.ts';
import { outcomeOf } from './outcomes.ts';

const text = fc.string({ unit: 'grapheme' });
const outcomes: fc.Arbitrary<Outcome> = fc.record({
  domain: fc.domain(),
  status: fc.constantFrom<OutcomeStatus>('found', 'not_found', 'rejected', 'failed', 'pending'),
  reason: text,
  httpStatus: fc.option(fc.integer({ min: 100, max: 999 }), { nil: undefined }),
  attempts: fc.nat(65_535),
  fetchedAtMs: fc.double({ min: 0, max: 8.64e15, noNaN: true }),
  json: fc.oneof(fc.json(), text),
});

describe('an encoded outcome', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(
        outcomes,
        fc.maxSafeNat().map((n) => n % 2 ** 48),
        (outcome, shapeId) => {
          const value = encodeOutcome(outcome, shapeId);
          expect(decodeOutcome(outcome.domain, value)).toEqual(outcome);
          const { status, fetchedAtMs } = outcome;
          expect(decodeHead(value)).toEqual({ status, fetchedAtMs, shapeId });
        },
      ),
    );
  });

  it('keeps letters outside of ASCII', () => {
    const outcome = outcomeOf('a.com', { reason: 'größer 😀', json: '{"n":"食狮 \\u0000 😀"}' });
    expect(decodeOutcome('a.com', encodeOutcome(outcome, 1))).toEqual(outcome);
  });

  it('does not keep the columns, only their number', () => {
    const encoded = encodeOutcome(outcomeOf('a.com', { shape: [['name']] }), 1);
    expect(decodeOutcome('a.com', encoded)).toEqual(outcomeOf('a.com'));
  });

  it('has bounds for attempts and the reason instead of failing', () => {
    const outcome = outcomeOf('a.com', { attempts: 1e6, reason: 'x'.repeat(70_000) });
    const decoded = decodeOutcome('a.com', encodeOutcome(outcome, 0));
    expect([decoded?.attempts, decoded?.reason.length, decoded?.json]).toEqual([
      65_535,
      65_535,
      outcome.json,
    ]);
  });

  // Node 20 and 22 heed the length that lmdb sets, later ones the bytes that are there.
  it('ends where its value does, whatever stands behind that in memory', () => {
    const outcome = outcomeOf('a.com');
    const value = encodeOutcome(outcome, 1);
    const shared = Buffer.concat([value, Buffer.from(' of an earlier value')]);
    Object.defineProperty(shared, 'length', { value: value.length });
    expect(decodeOutcome('a.com', shared)).toEqual(outcome);
  });

  it('holds ten megabytes of answer', () => {
    const json = `{"a":"${'€'.repeat(3_500_000)}"}`;
    expect(decodeOutcome('a.com', encodeOutcome(outcomeOf('a.com', { json }), 1))?.json).toBe(json);
  });
});

describe('bytes that are no outcome', () => {
  const value = encodeOutcome(outcomeOf('a.com'), 1);
  const changed = (at: number, byte: number): Buffer => {
    const copy = Buffer.from(value);
    copy[at] = byte;
    return copy;
  };

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from([1])],
    ['a head cut short', value.subarray(0, 21)],
    ['another layout', changed(0, 2)],
    ['an unknown status', changed(1, 9)],
    ['zeros', Buffer.alloc(100)],
  ])('are not read as one: %s', (_, bytes) => {
    expect(decodeHead(bytes)).toBeUndefined();
    expect(decodeOutcome('a.com', bytes)).toBeUndefined();
  });
});
