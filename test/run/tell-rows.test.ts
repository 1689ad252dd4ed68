import { describe, expect, it } from 'vitest';
import { createRowReporter } from '../../src/run/join.ts';
import { createRunTime } from '../../src/run/open.ts';
import type { RunEvent } from '../../src/watch/events.ts';

/** Writes batches of ten rows, each of which takes so long; returns what was told. */
function write(batches: number, batchMs: number): readonly RunEvent[] {
  const told: RunEvent[] = [];
  let nowMs = 500;
  const total = batches * 10;
  const reporter = createRowReporter({
    total,
    onEvent: (event) => told.push(event),
    now: () => nowMs,
  });
  for (let batch = 0; batch < batches; batch += 1) {
    nowMs += batchMs;
    reporter.add(10);
  }
  reporter.end();
  return told;
}

it('rows that are written in a moment are not told of', () => {
  expect(write(9, 100)).toEqual([]);
});

it('rows that take longer are told of four times a second, and all of them in the end', () => {
  expect(write(19, 100)).toEqual([
    { type: 'rows', written: 100, total: 190 },
    { type: 'rows', written: 130, total: 190 },
    { type: 'rows', written: 160, total: 190 },
    { type: 'rows', written: 190, total: 190 },
    { type: 'rows', written: 190, total: 190 },
  ]);
});

describe('the time of a run', () => {
  it('stands still while a clock that was set back catches up', () => {
    const times = [1_000, 1_500, 900, 1_499, 1_600];
    const now = createRunTime(() => times.shift() ?? 0);
    expect([now(), now(), now(), now(), now()]).toEqual([1_000, 1_500, 1_500, 1_500, 1_600]);
  });
});
