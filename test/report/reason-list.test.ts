import { describe, expect, it } from 'vitest';
import { createReasonList } from '../../src/report/run-recorder.ts';
import { rowOf } from './recordings.ts';

const cellOf = ({ raw }: { readonly raw: string }): string => raw.split(',')[1]?.trim() ?? '';

const textOf = ({ raw }: { readonly raw: string }): string => raw;

describe('the list of reasons', () => {
  it('counts rows and has the first five as examples', () => {
    const list = createReasonList({ cellOf, textOf });
    for (let number = 1; number <= 7; number += 1) {
      const row = { number, domain: '', raw: `${number},n/a\n`, httpStatus: undefined };
      list.add(rowOf({ ...row, status: 'invalid', reason: 'single_label' }));
    }
    list.add(rowOf({ number: 8, status: 'failed', reason: 'timeout', httpStatus: undefined }));
    const [first, second] = list.reasons;
    expect(first).toMatchObject({ status: 'invalid', reason: 'single_label', rows: 7 });
    expect(first?.examples.map(({ row }) => row)).toEqual([1, 2, 3, 4, 5]);
    expect(first?.examples[0]).toEqual({ row: 1, domain: '', cell: 'n/a', text: '1,n/a' });
    expect(second).toMatchObject({ status: 'failed', reason: 'timeout', rows: 1 });
    expect(list.otherRows).toBe(0);
  });

  it('takes what an API wrote about each domain for one reason', () => {
    const list = createReasonList({ cellOf, textOf });
    for (const domain of ['acme.com', 'bolt.com']) {
      const reason = `${domain} is blocked (request 7d9f0c2e-11d2-4f6a-9f00-0123456789ab)`;
      list.add(rowOf({ domain, status: 'rejected', reason, httpStatus: 422 }));
    }
    expect(list.reasons).toHaveLength(1);
    expect(list.reasons[0]).toMatchObject({
      reason: '{domain} is blocked (request …)',
      rows: 2,
      httpStatus: 422,
    });
  });

  it('tells the same words of different statuses apart', () => {
    const list = createReasonList({ cellOf, textOf });
    list.add(rowOf({ status: 'rejected', reason: 'no', httpStatus: 400 }));
    list.add(rowOf({ status: 'rejected', reason: 'no', httpStatus: 422 }));
    expect(list.reasons).toHaveLength(2);
  });

  it('stays small when each of twenty thousand rows has another reason, and counts all of them', () => {
    const list = createReasonList({ cellOf, textOf });
    for (let number = 1; number <= 20_000; number += 1) {
      list.add(rowOf({ number, status: 'rejected', reason: `no, ${toWord(number)}` }));
    }
    // No more than a thousand are held: the next one is not known however often it comes.
    for (let at = 0; at < 9; at += 1) list.add(rowOf({ status: 'rejected', reason: 'late' }));
    const told = list.reasons.reduce((sum, { rows }) => sum + rows, 0);
    expect(list.reasons).toHaveLength(40);
    expect(list.reasons.map(({ reason }) => reason)).not.toContain('late');
    expect(told + list.otherRows).toBe(20_009);
  });

  it('shortens what it shows, and takes out what controls a terminal or turns a text around', () => {
    const list = createReasonList({ cellOf, textOf });
    const raw = `1,\u001b[31mx\u202egnp.exe${'y'.repeat(1_000_000)}\n`;
    list.add(rowOf({ raw, status: 'rejected', reason: `a\u0000b ${'z'.repeat(400)}` }));
    const [{ reason, examples } = { reason: '', examples: [] }] = list.reasons;
    expect(reason).toMatch(/^a b z+…$/);
    expect(reason.length).toBeLessThanOrEqual(201);
    expect(examples[0]?.text.length).toBeLessThanOrEqual(161);
    expect(examples[0]?.cell).toMatch(/^\[31mx gnp\.exey+…$/);
  });
});

/** Letters only: numbers are taken out of reasons. */
function toWord(number: number): string {
  return Array.from(String(number), (digit) => String.fromCodePoint(103 + Number(digit))).join('');
}
