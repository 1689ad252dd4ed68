import { describe, expect, it } from 'vitest';
import { nextFile, type PartState } from '../../../src/collector/backfill/journal.ts';
import { toLines } from '../../../src/collector/backfill/outcome-lines.ts';
import type { OutcomeData } from '../../../src/queue/bullmq/contract.ts';

const FOUND: OutcomeData = {
  domain: 'acme.com',
  status: 'found',
  reason: '',
  httpStatus: 200,
  attempts: 1,
  fetchedAtMs: 0,
  json: '{"a":1}',
};

function enrichedOf(more: Partial<OutcomeData>): string {
  const reply = { v: 1, chunk: 'c', outcomes: [{ ...FOUND, ...more }] } as const;
  return toLines(reply).text.enriched;
}

describe('the lines of a reply', () => {
  it.each([
    ['long numbers', '{"id":12345678901234567890}', '{"id":12345678901234567890}'],
    ['line breaks between tokens', '{\r\n"a":1,\n"b":2}\n', '{ "a":1, "b":2}'],
    ['escaped line breaks', String.raw`{"a":"x\ny"}`, String.raw`{"a":"x\ny"}`],
    ['what is no object', 'oops', '"oops"'],
  ])('keep an answer on one line: %s', (_, json, written) => {
    const line = enrichedOf({ json });
    expect(line.endsWith(`,"answer":${written}}\n`)).toBe(true);
    expect(line.indexOf('\n')).toBe(line.length - 1);
    JSON.parse(line);
  });

  it('name what was given only where it is not the domain', () => {
    expect(enrichedOf({ given: 'acme.com' })).not.toContain('given');
    expect(enrichedOf({ given: 'WWW.acme.com' })).toContain('"given":"WWW.acme.com"');
  });

  it('say of a job that was refused why, with what it came with', () => {
    const reply = { v: 1, chunk: 'c', ref: [1], outcomes: [], error: 'no domains' } as const;
    expect(toLines(reply)).toEqual({
      text: {
        enriched: '',
        failures: '{"status":"rejected","reason":"no domains","chunk":"c","ref":[1]}\n',
      },
      count: { enriched: 0, failures: 1 },
    });
  });
});

const NOW_MS = Date.UTC(2026, 10, 21, 8, 30);
const last: PartState = { hour: '2026-11-21T08', number: 3, bytes: 70, lines: 1, isOpen: false };

it.each([
  ['the first of an hour has no file before it', undefined, 1],
  ['the first of an hour comes after one of another hour', { ...last, hour: '2026-11-21T07' }, 1],
  ['one comes after another', last, 4],
  // In a folder that cannot be written to, one is begun every second.
  ['one that was begun and never written takes no number', { ...last, bytes: 0, lines: 0 }, 3],
])('%s', (_, before, number) => {
  expect(nextFile(before, NOW_MS)).toEqual({ hour: '2026-11-21T08', number });
});
