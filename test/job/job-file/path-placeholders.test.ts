import { describe, expect, it } from 'vitest';
import { fillPlaceholders, placeholdersAt } from '../../../src/job/job-file/variables.ts';

describe('placeholdersAt', () => {
  it.each([
    ['UTC', { date: '2026-11-21', time: '233005' }],
    ['Europe/Berlin', { date: '2026-11-22', time: '003005' }],
    ['America/New_York', { date: '2026-11-21', time: '183005' }],
  ])('are those of %s', (zone, expected) => {
    expect(placeholdersAt(new Date('2026-11-21T23:30:05Z'), zone)).toEqual(expected);
  });

  it("are the machine's own without a zone", () => {
    const now = new Date(2026, 0, 2, 3, 4, 5);
    expect(placeholdersAt(now, undefined)).toEqual({ date: '2026-01-02', time: '030405' });
  });
});

describe('fillPlaceholders', () => {
  const values = { date: '2026-11-21', time: '023000' };

  it.each([
    ['out/{date}/a-{time}.csv', 'out/2026-11-21/a-023000.csv'],
    ['{date}{date}', '2026-11-212026-11-21'],
    ['plain.csv', 'plain.csv'],
    ['{a,b}-{}-{1f}.csv', '{a,b}-{}-{1f}.csv'],
  ])('%s comes to %s', (path, expected) => {
    expect(fillPlaceholders(path, values)).toEqual({ path: expected });
  });

  it.each(['{dat}', '{Date}', '{times}'])('%s is refused with what was meant', (path) => {
    expect(fillPlaceholders(path, values)).toEqual({
      problem: expect.stringMatching(/^there is no \{\w+\}; did you mean \{(date|time)\}\?$/),
    });
  });

  it('a placeholder like none that exists is refused with those that do', () => {
    expect(fillPlaceholders('out-{customer}.csv', values)).toEqual({
      problem: 'there is no {customer}; the placeholders are {date} and {time}',
    });
  });
});
