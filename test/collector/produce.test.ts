import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLine, readOrder } from '../../src/collector/produce.ts';
import type { IndexedRow } from '../../src/collector/row-index.ts';

/** Asks about so many domains of a list, in the order of a run; returns them. */
function runWith(list: readonly string[], askedAtMs: Map<string, number>, budget: number) {
  const line = createLine();
  for (const domain of list) line.add(askedAtMs.get(domain) ?? 0);
  const untilMs = line.cut(budget) ?? Number.NEGATIVE_INFINITY;
  const isFirst = (domain: string): boolean => (askedAtMs.get(domain) ?? 0) <= untilMs;
  const inLine = [...list.filter(isFirst), ...list.filter((domain) => !isFirst(domain))];
  return inLine.slice(0, budget);
}

it('a budget goes round the whole list, however small it is', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.integer({ min: 1, max: 20 }),
      (rows, budget) => {
        const list = Array.from({ length: rows }, (_, at) => `${at}.com`);
        const askedAtMs = new Map<string, number>();
        const rounds = Math.ceil(rows / budget);
        for (let night = 1; night <= 3 * rounds; night += 1) {
          const asked = runWith(list, askedAtMs, budget);
          for (const domain of asked) askedAtMs.set(domain, night * 86_400_000);
        }
        const oldest = Math.min(...list.map((domain) => askedAtMs.get(domain) ?? 0));
        // What goes first may leave some calls to others, so a round may take longer.
        expect(oldest).toBeGreaterThanOrEqual(rounds * 86_400_000);
      },
    ),
  );
});

it.each([1, 4, 5, 1_000, 1_500, 70_000])(
  'those that go ahead are from all over a list of %i domains',
  async (length) => {
    const rows = Array.from(
      { length: 2 * length },
      (_, at): IndexedRow => ({
        kind: 'due',
        text: String(at >> 1),
        isFirst: at % 2 === 0,
        sizeBytes: 1,
        fields: 1,
      }),
    );
    const index = {
      read: async function* () {
        for (let at = 0; at < rows.length; at += 200) yield rows.slice(at, at + 200);
      },
    };
    const { lookups, first } = await readOrder(index, () => 0);
    expect(lookups).toBe(length);
    expect(new Set(first).size).toBe(Math.min(length, 5));
    for (const [at, domain] of first.entries()) {
      const place = ((at + 0.5) * (length - 1)) / first.length;
      expect(Math.abs(Number(domain) - place)).toBeLessThanOrEqual(1 + length / 200);
    }
  },
);
