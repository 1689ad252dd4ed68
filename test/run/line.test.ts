import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { createLine } from '../../src/run/plan.ts';

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

it('what was never asked goes first, then what was asked longest ago', () => {
  const askedAtMs = new Map([
    ['a.com', 3_000],
    ['b.com', 1_000],
    ['c.com', 2_000],
  ]);
  const list = ['a.com', 'b.com', 'c.com', 'd.com'];
  expect(runWith(list, askedAtMs, 1)).toEqual(['d.com']);
  expect(runWith(list, askedAtMs, 2)).toEqual(['b.com', 'd.com']);
  askedAtMs.set('d.com', 1_500);
  expect(runWith(list, askedAtMs, 1)).toEqual(['b.com']);
  expect(createLine().cut(3)).toBeUndefined();
});
