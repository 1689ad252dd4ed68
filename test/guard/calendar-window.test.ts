import { describe, expect, it } from 'vitest';
import { windowAt } from '../../src/guard/shared-budget.ts';

describe('a calendar window', () => {
  it.each([
    ['minute', '2026-12-31T23:59:30.500Z', '2026-12-31T23:59', '2027-01-01T00:00:00.000Z'],
    ['hour', '2026-03-29T01:30:00.000Z', '2026-03-29T01', '2026-03-29T02:00:00.000Z'],
    ['day', '2026-11-21T00:00:00.000Z', '2026-11-21', '2026-11-22T00:00:00.000Z'],
    ['day', '2024-02-28T23:59:59.999Z', '2024-02-28', '2024-02-29T00:00:00.000Z'],
    ['month', '2026-12-31T12:00:00.000Z', '2026-12', '2027-01-01T00:00:00.000Z'],
    ['month', '2024-02-29T12:00:00.000Z', '2024-02', '2024-03-01T00:00:00.000Z'],
  ] as const)('of one %s at %s is %s and ends at %s', (unit, now, id, end) => {
    const window = windowAt(unit, Date.parse(now));
    expect(window.id).toBe(id);
    expect(new Date(window.endsAtMs).toISOString()).toBe(end);
  });
});
