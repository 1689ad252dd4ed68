import { setTimeout as delay } from 'node:timers/promises';
import { type Worker } from 'bullmq';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createChunkLeases } from '../../src/queue/bullmq/chunks/leases.ts';
import { nextDue } from '../../src/queue/bullmq/schedule-queue.ts';
import { shiftClock } from '../support/shift-clock.ts';

describe('the leases on chunks', () => {
  it('keep the later of two on one chunk alive when the earlier is given up', async () => {
    const renewed: string[] = [];
    const worker = {
      extendJobLocks: async (_: readonly string[], tokens: readonly string[]) => {
        renewed.push(...tokens);
        return [];
      },
    } as unknown as Worker;
    const locks = createChunkLeases({ worker, leaseMs: 30 });
    onTestFinished(() => locks.close());
    const lost = locks.acquire('a', 'first');
    const again = locks.acquire('a', 'second');
    lost.release();
    while (renewed.length < 3) await delay(5);
    expect(new Set(renewed)).toEqual(new Set(['second']));
    again.release();
  });

  it.each([
    [30_000, false],
    [29_999, true],
  ])('last for as long as they were renewed for: after %i of 30,000 ms, %s', (passedMs, isOurs) => {
    const time = { ms: 0 };
    const locks = createChunkLeases({
      worker: {} as Worker,
      leaseMs: 30_000,
      nowMs: () => time.ms,
    });
    onTestFinished(() => locks.close());
    const lock = locks.acquire('a', 'first');
    time.ms += passedMs;
    expect(lock.isOurs()).toBe(isOurs);
  });

  it.each([20_000, -3_600_000])('are none of the wall clock: it is set by %i ms', (byMs) => {
    const locks = createChunkLeases({ worker: {} as Worker, leaseMs: 15_000 });
    onTestFinished(() => locks.close());
    const lock = locks.acquire('a', 'first');
    shiftClock(byMs);
    expect(lock.isOurs()).toBe(true);
  });
});

/** When a job is due next after a moment, so many times in a row, as clocks of its zone show it. */
function shownAfter(from: string, pattern: string, tz: string, times = 2): readonly string[] {
  const format = { timeZone: tz, dateStyle: 'short', timeStyle: 'short' } as const;
  const clock = new Intl.DateTimeFormat('sv', format);
  let dueMs = Date.parse(from);
  return Array.from({ length: times }, () => {
    dueMs = nextDue(dueMs, { pattern, tz });
    return clock.format(dueMs);
  });
}

describe('nextDue', () => {
  it('goes by the clocks of the zone', () => {
    expect(shownAfter('2026-01-10T12:00:00Z', '30 2 * * *', 'Asia/Tokyo')).toEqual([
      '2026-01-11 02:30',
      '2026-01-12 02:30',
    ]);
    expect(shownAfter('2026-01-10T12:00:00Z', '0 0,12 * * *', 'UTC')).toEqual([
      '2026-01-11 00:00',
      '2026-01-11 12:00',
    ]);
  });

  it.each([
    ['Europe/Berlin', '30 2 * * *', '2026-03-28T12:00:00Z', ['03-29 03:30', '03-30 02:30']],
    ['Africa/Cairo', '0 0 * * *', '2026-04-23T12:00:00Z', ['04-24 01:00', '04-25 00:00']],
    ['Asia/Beirut', '15 0 * * *', '2026-03-28T12:00:00Z', ['03-29 01:15', '03-30 00:15']],
    ['America/Santiago', '@daily', '2026-09-05T12:00:00Z', ['09-06 01:00', '09-07 00:00']],
    ['America/Havana', '0 30 0 * * *', '2026-03-07T12:00:00Z', ['03-08 01:30', '03-09 00:30']],
  ])('has a time that clocks leave out come later: %s, %s', (tz, cron, from, expected) => {
    expect(shownAfter(from, cron, tz)).toEqual(expected.map((at) => `2026-${at}`));
  });

  it.each([
    ['America/New_York', '30 2 * * *', '2026-03-08T07:10:00Z', ['03-08 03:30', '03-09 02:30']],
    ['America/New_York', '30 2 * * *', '2026-03-08T07:30:00Z', ['03-09 02:30', '03-10 02:30']],
    ['America/New_York', '0 3 * * *', '2026-03-08T07:00:00Z', ['03-09 03:00', '03-10 03:00']],
    ['America/New_York', '*/20 * * * *', '2026-03-08T07:00:00Z', ['03-08 03:20', '03-08 03:40']],
    ['Australia/Lord_Howe', '15 2 * * *', '2026-10-03T15:40:00Z', ['10-04 02:45', '10-05 02:15']],
  ])(
    'is asked for after clocks have jumped, and before what they left out has come: %s, %s',
    (tz, cron, from, expected) => {
      expect(shownAfter(from, cron, tz)).toEqual(expected.map((at) => `2026-${at}`));
    },
  );

  it.each([
    ['Europe/Berlin', '30 2 * * *', '2026-10-24T12:00:00Z', ['10-25 02:30', '10-26 02:30']],
    ['America/Havana', '0 0 * * *', '2026-10-31T12:00:00Z', ['11-01 00:00', '11-02 00:00']],
    ['America/Santiago', '30 23 * * *', '2026-04-04T12:00:00Z', ['04-04 23:30', '04-05 23:30']],
  ])('counts a time once that is there twice: %s, %s', (tz, cron, from, expected) => {
    expect(shownAfter(from, cron, tz)).toEqual(expected.map((at) => `2026-${at}`));
  });

  it('goes on where clocks go back by half an hour', () => {
    expect(shownAfter('2026-04-04T12:30:00Z', '0 * * * *', 'Australia/Lord_Howe', 4)).toEqual([
      '2026-04-05 00:00',
      '2026-04-05 01:00',
      '2026-04-05 02:00',
      '2026-04-05 03:00',
    ]);
    const inTheHalfHour = '2026-04-04T14:04:00Z';
    expect(shownAfter(inTheHalfHour, '0 * * * *', 'Australia/Lord_Howe')).toEqual([
      '2026-04-05 02:00',
      '2026-04-05 03:00',
    ]);
  });
});
