import { describe, expect, it } from 'vitest';
import { reconcile } from '../../src/schedule/schedules.ts';

const NIGHTLY = { cron: '30 2 * * *', timezone: 'Europe/Berlin' };
const NOW = 1_000_000;
const later = (schedule = NIGHTLY) => ({ ...schedule, nextAtMs: NOW + 1 });
const overdue = (schedule = NIGHTLY) => ({ ...schedule, nextAtMs: NOW - 1 });

describe('reconcile', () => {
  it.each([
    ['adds what is new', { a: NIGHTLY }, {}, { add: ['a'] }],
    ['leaves alone what is the same, however late it is', { a: NIGHTLY }, { a: overdue() }, {}],
    [
      'changes what has another cron',
      { a: { ...NIGHTLY, cron: '0 5 * * *' } },
      { a: later() },
      { change: ['a'] },
    ],
    [
      'changes what has another time zone',
      { a: { ...NIGHTLY, timezone: 'UTC' } },
      { a: later() },
      { change: ['a'] },
    ],
    [
      'remembers that it was missed what changed while it was due',
      { a: { ...NIGHTLY, timezone: 'UTC' } },
      { a: overdue() },
      { change: ['a'], missed: new Map([['a', NOW - 1]]) },
    ],
    ['removes what no file has', {}, { a: later() }, { remove: ['a'] }],
    ['leaves what a file has that cannot be read', { a: undefined }, { a: later() }, {}],
    ['adds nothing for a file that cannot be read', { a: undefined }, {}, {}],
  ])('%s', (_, wanted, kept, expected) => {
    const nothing = { add: [], change: [], remove: [], missed: new Map() };
    expect(reconcile(new Map(Object.entries(wanted)), new Map(Object.entries(kept)), NOW)).toEqual({
      ...nothing,
      ...expected,
    });
  });
});
