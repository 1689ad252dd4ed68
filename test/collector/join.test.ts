import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../src/brand/outcome.ts';
import { join } from '../../src/collector/join.ts';
import { isListed, type JoinedRow } from '../../src/collector/joined-row.ts';
import type { IndexedRow } from '../../src/producer/row-index.ts';
import { sourceOf } from '../rows/sources.ts';

const OUTCOMES: readonly Outcome[] = [
  {
    domain: 'a.com',
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 2,
    fetchedAtMs: 5,
    json: '{"name":"A"}',
  },
  {
    domain: 'b.com',
    status: 'not_found',
    reason: 'http_404',
    httpStatus: 404,
    attempts: 1,
    fetchedAtMs: 5,
    json: '',
  },
  {
    domain: 'old.com',
    status: 'found',
    reason: '',
    httpStatus: 200,
    attempts: 1,
    fetchedAtMs: 1,
    json: '{}',
  },
];

async function joinAll(text: string, index: readonly IndexedRow[]): Promise<JoinedRow[]> {
  const rows: JoinedRow[] = [];
  const joined = join({
    source: sourceOf(text),
    headBytes: 2,
    index: {
      read: async function* () {
        for (const row of index) yield [row];
      },
    },
    answers: {
      outcomeOf: (domain) =>
        OUTCOMES.find((outcome) => outcome.domain === domain && outcome.fetchedAtMs > 2),
      staleOf: () => undefined,
    },
    enriched: [{ name: 'name', valueOf: (answer) => answer['name'] }],
    skipReason: 'max_calls',
  });
  for await (const batch of joined) rows.push(...batch.filter(isListed));
  return rows;
}

describe('join', () => {
  it('gives each row with its outcome, by its place in the input', async () => {
    const due = (sizeBytes: number, text: string): IndexedRow => ({
      kind: 'due',
      sizeBytes,
      fields: 1,
      text,
    });
    const rows = await joinAll('d\n1\n\n22\nß\n4\n5', [
      due(2, 'a.com'),
      { kind: 'blank', sizeBytes: 1, fields: 0, text: '' },
      due(3, 'b.com'),
      { kind: 'invalid', sizeBytes: 3, fields: 1, text: 'empty' },
      due(2, 'old.com'),
      due(1, 'new.com'),
    ]);
    expect(
      rows.map(({ raw, number, domain, status, reason, attempts, values }) => [
        raw,
        number,
        domain,
        status,
        reason,
        attempts,
        values[0],
      ]),
    ).toEqual([
      ['1\n', 1, 'a.com', 'found', '', 2, 'A'],
      ['22\n', 2, 'b.com', 'not_found', 'http_404', 1, undefined],
      ['ß\n', 3, '', 'invalid', 'empty', 0, undefined],
      ['4\n', 4, 'old.com', 'skipped', 'max_calls', 0, undefined],
      ['5', 5, 'new.com', 'skipped', 'max_calls', 0, undefined],
    ]);
  });
});
