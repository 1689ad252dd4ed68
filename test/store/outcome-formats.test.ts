import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Outcome, OutcomeStatus } from '../../src/calls/outcome.ts';
import { decodeHead, decodeOutcome, encodeOutcome } from '../../src/store/entries.ts';
import { formatOutcomeLine, parseOutcomeLine } from '../../src/store/upkeep.ts';
import { outcomeOf } from './outcomes.ts';

const KEY = 'api:a.com';

const text = fc.string({ unit: 'grapheme' });
const outcomes: fc.Arbitrary<Outcome> = fc.record({
  domain: fc.domain(),
  status: fc.constantFrom<OutcomeStatus>('found', 'not_found', 'rejected', 'failed', 'pending'),
  reason: fc.constantFrom('', 'timeout', 'http_422', 'proxy_502'),
  said: fc.option(fc.string({ unit: 'grapheme', minLength: 1 }), { nil: undefined }),
  httpStatus: fc.option(fc.integer({ min: 100, max: 999 }), { nil: undefined }),
  attempts: fc.nat(65_535),
  fetchedAtMs: fc.double({ min: 0, max: 8.64e15, noNaN: true }),
  json: fc.oneof(fc.json(), text),
});

describe('an encoded outcome', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(outcomes, (outcome) => {
        const key = `api:${outcome.domain}`;
        const value = encodeOutcome(key, outcome);
        expect(decodeOutcome(key, value)).toEqual(outcome);
        const { status, fetchedAtMs } = outcome;
        expect(decodeHead(key, value)).toMatchObject({ status, fetchedAtMs });
      }),
    );
  });

  it('has bounds for attempts and what the API wrote instead of failing', () => {
    const outcome = outcomeOf('a.com', { attempts: 1e6, said: 'x'.repeat(70_000) });
    const decoded = decodeOutcome(KEY, encodeOutcome(KEY, outcome));
    expect([decoded?.attempts, decoded?.said?.length, decoded?.json]).toEqual([
      65_535,
      65_535,
      outcome.json,
    ]);
  });

  it('of an earlier version has what the API wrote apart from the reason', () => {
    const earlier = outcomeOf('a.com', { reason: 'no such domain', httpStatus: 422 });
    const now = { ...earlier, reason: 'http_422', said: 'no such domain' };
    expect(decodeOutcome(KEY, encodeOutcome(KEY, earlier))).toEqual(now);
    const line = formatOutcomeLine(KEY, earlier);
    expect(parseOutcomeLine(line)).toEqual({ endpointId: 'api', outcome: now });
  });

  // Node 20 and 22 heed the length that lmdb sets, later ones the bytes that are there.
  it('ends where its value does, whatever stands behind that in memory', () => {
    const outcome = outcomeOf('a.com');
    const value = encodeOutcome(KEY, outcome);
    const shared = Buffer.concat([value, Buffer.from(' of an earlier value')]);
    Object.defineProperty(shared, 'length', { value: value.length });
    expect(decodeOutcome(KEY, shared)).toEqual(outcome);
  });
});

const value = encodeOutcome(KEY, outcomeOf('a.com'));
const changed = (at: number, byte: number): Buffer => {
  const copy = Buffer.from(value);
  copy[at] = byte;
  return copy;
};

it.each([
  ['nothing', Buffer.alloc(0)],
  ['one byte', Buffer.from([1])],
  ['a head cut short', value.subarray(0, 21)],
  ['another layout', changed(0, 3)],
  ['one letter changed', changed(value.length - 2, 33)],
  ['an unknown status', changed(1, 9)],
  ['zeros', Buffer.alloc(100)],
])('bytes that are no outcome are not read as one: %s', (_, bytes) => {
  expect(decodeHead(KEY, bytes)).toBeUndefined();
  expect(decodeOutcome(KEY, bytes)).toBeUndefined();
});

/**
 * Of which a line has all: times in whole milliseconds, an answer where it was found, and no other.
 */
const readable: fc.Arbitrary<Outcome> = fc
  .tuple(outcomes, fc.nat(4_102_444_800_000), fc.dictionary(fc.string(), fc.jsonValue()))
  .filter(([{ status }]) => status !== 'pending')
  .map(([outcome, fetchedAtMs, answer]) => {
    const json = outcome.status === 'found' ? JSON.stringify(answer) : '';
    return Object.assign(outcome, { fetchedAtMs, json });
  });

describe('an outcome on a line', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(readable, (outcome) => {
        const line = formatOutcomeLine(`api:${outcome.domain}`, outcome);
        expect(line).not.toMatch(/[\r\n]/);
        expect(parseOutcomeLine(line)).toEqual({ endpointId: 'api', outcome });
      }),
    );
  });

  it('keeps the answer as it came, with numbers that JavaScript cannot hold', () => {
    const json =
      '{\n  "id": 12345678901234567890,\r\n  "rate": 1.10, "t": "a\\nb ,\\"answer\\":{"\n}';
    const outcome = outcomeOf('acme.com', { json });
    const line = formatOutcomeLine(`api:${outcome.domain}`, outcome);
    expect(line).toBe(
      '{"api":"api","domain":"acme.com","status":"found","http_status":200,"attempts":1,"fetched_at":"1970-01-01T00:00:01.000Z","answer":{   "id": 12345678901234567890,   "rate": 1.10, "t": "a\\nb ,\\"answer\\":{" }}',
    );
    const read = parseOutcomeLine(line);
    expect(read).toMatchObject({ outcome: { json: json.replaceAll(/[\r\n]+/g, ' ') } });
  });

  it.each(
    Object.entries({
      '': 'it is no JSON object',
      '{}': "'api' is missing or not as exported",
      '{"api":"a","domain":"a.com","status":"lost"}': "'status' is missing or not as exported",
      '{"api":"a","domain":"a.com","status":"failed","attempts":1,"fetched_at":"today"}':
        "'fetched_at' is missing or not as exported",
      '{"api":"a","domain":"a.com","status":"found","attempts":1,"fetched_at":"2026-11-21T00:00:00Z"}':
        "'answer' is missing or not as exported",
      '{"api":"a","domain":"a.com","status":"found","attempts":1,"answer":{"a":1},"fetched_at":"2026-11-21T00:00:00Z"}':
        "'answer' is missing or not as exported",
    }),
  )('is refused when it is none: %s', (line, why) => {
    expect(parseOutcomeLine(line)).toBe(why);
  });
});
