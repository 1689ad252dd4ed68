import { describe, expect, it } from 'vitest';
import { createRunControl, type RunControl } from '../../src/common/run-control.ts';
import type { Progress, RunEvent } from '../../src/watch/events.ts';
import { createStatusCounts } from '../../src/watch/summary.ts';
import type { RunState } from '../../src/web/board.ts';
import { createLiveRun, describeAnswer, type LiveRun } from '../../src/web/live-run.ts';
import { summaryOf } from '../report/recordings.ts';

const ABOUT = { id: 'a', host: 'h', pid: 1, startedAtMs: 0 };
const plan = { rows: 12, uniqueDomains: 10, invalidRows: 1, freshDomains: 0, lookups: 10 };
const planned = { type: 'planned', plan } as unknown as RunEvent;

function progress(changes: Partial<Progress> = {}): RunEvent {
  return {
    type: 'progress',
    lookups: 10,
    done: 5,
    outcomes: { found: 4, not_found: 0, rejected: 0, failed: 1, pending: 0 },
    calls: 6,
    retries: 1,
    throttled: 0,
    elapsedMs: 5_000,
    waitMs: 0,
    ...changes,
  };
}

function record(...events: readonly RunEvent[]): {
  readonly control: RunControl;
  readonly recorder: LiveRun;
  readonly read: () => RunState;
} {
  const control = createRunControl();
  const recorder = createLiveRun({ ...ABOUT, control });
  for (const event of events) recorder.show(event);
  return { control, recorder, read: recorder.read };
}

describe('a run', () => {
  it('can only be stopped while its list is read', () => {
    expect(record().read()).toMatchObject({ phase: 'reading', actions: ['stop'] });
  });

  it('is paused and resumed', () => {
    const { control, read } = record(planned, progress());
    expect(read().actions).toEqual(['pause', 'stop', 'retry']);
    control.pause();
    expect(read()).toMatchObject({ isPaused: true, actions: ['resume', 'stop', 'retry'] });
    expect(read().progress?.leftMs).toBeUndefined();
  });

  it('offers to retry failures once, and only when there are some', () => {
    const { control, read } = record(planned, progress());
    control.retryFailures();
    expect(read()).toMatchObject({ isRetryWanted: true, actions: ['pause', 'stop'] });
    const outcomes = { found: 5, not_found: 0, rejected: 0, failed: 0, pending: 0 };
    expect(record(planned, progress({ outcomes })).read().actions).toEqual(['pause', 'stop']);
  });

  it('tells how far it is, and how long it will take', () => {
    const { read } = record(planned, progress({ elapsedMs: 0, done: 0 }), progress());
    expect(read().plan).toEqual({ rows: 12, uniqueDomains: 10, invalidRows: 1, freshDomains: 0 });
    expect(read().progress).toMatchObject({ done: 5, lookups: 10, failed: 1, leftMs: 5_000 });
  });

  it('shows what was billed, where that is known', () => {
    const bill = { units: 50, unit: 'credits' };
    expect(record(planned, progress({ bill })).read().progress?.billed).toEqual(bill);
    expect(record(planned, progress()).read().progress?.billed).toBeUndefined();
  });

  it('has nothing to press once it stops', () => {
    const stopping = { type: 'stopping', stop: { reason: 'quota' } } as const;
    const state = record(planned, progress(), stopping).read();
    expect(state).toMatchObject({ phase: 'stopping', actions: [] });
    expect(state.notices[0]).toContain('quota');
  });

  it('shows how far logos are, and can be paused and stopped meanwhile', () => {
    const counts = { total: 9, saved: 4, kept: 1, missing: 2 };
    const logos = { type: 'logos', ...counts, elapsedMs: 5 } as const;
    const { control, read } = record(planned, progress(), logos);
    const now = { phase: 'saving_logos', logos: counts, actions: ['pause', 'stop'] };
    expect(read()).toMatchObject(now);
    control.pause();
    expect(read()).toMatchObject({ isPaused: true, actions: ['resume', 'stop'] });
  });

  it('says why nothing comes from workers that are busy with other things', () => {
    const waiting = { calls: 0, done: 0, underWay: 50, comesInBursts: true };
    const soon = record(planned, progress({ ...waiting, elapsedMs: 1_000 })).read();
    expect(soon.progress?.waits).toBeUndefined();
    const late = record(planned, progress({ ...waiting, elapsedMs: 9_000 })).read();
    expect(late.progress?.waits).toMatch(/^No chunk of it is done yet: /);
    const alone = record(planned, progress({ ...waiting, heldBy: 'no_worker' })).read();
    expect(alone.progress?.waits).toBe('No worker is there to make the lookups');
    const paused = record(planned, progress({ ...waiting, isPaused: true, outage: 'out' })).read();
    expect(paused.progress?.waits).toBeUndefined();
  });

  it('says what to do about failures when it is over, which only a schedule can do from here', () => {
    const summary = summaryOf({ rows: 3, statuses: { ...createStatusCounts(), failed: 2 } });
    const { recorder, read } = record(planned, progress());
    recorder.end({ summary });
    expect(read()).toMatchObject({ phase: 'ended', ending: 'some_failed', actions: [] });
    expect(read().next).toMatch(/^2 rows failed\. To retry them, run the same command again: /);
    const schedule = { group: 'crm', job: 'nightly' };
    const made = createLiveRun({ ...ABOUT, control: createRunControl(), schedule });
    made.end({ summary });
    expect(made.read()).toMatchObject({ schedule, actions: ['retry'] });
    const good = createLiveRun({ ...ABOUT, control: createRunControl(), schedule });
    good.end({ summary: summaryOf({ rows: 3 }) });
    expect(good.read()).toMatchObject({ ending: 'done', actions: [], next: undefined });
  });

  it('tells why it ended without a summary', () => {
    const { recorder, read } = record(planned);
    recorder.end({ error: 'Cannot write out.csv: the disk is full.' });
    expect(read()).toMatchObject({
      phase: 'ended',
      ending: 'error',
      end: ['Cannot write out.csv: the disk is full.'],
    });
  });

  it('keeps the last notices only', () => {
    const notices = Array.from({ length: 9 }, (_, at) => ({
      type: 'notice' as const,
      message: `${at}`,
    }));
    expect(record(...notices).read().notices).toEqual(['8', '7', '6', '5', '4']);
  });
});

it.each([
  ['{"id":"7","name":"Acme"}', 'Acme'],
  ['{"id":7,"title":"Acme Ltd","name":null}', 'Acme Ltd'],
  ['{"id":7}', '{"id":7}'],
  ['{"name":"<img src=x onerror=alert(1)>"}', '<img src=x onerror=alert(1)>'],
  [JSON.stringify({ name: 'é'.repeat(500) }), `${'é'.repeat(120)}…`],
])('an answer such as %j is told as %j', (json, line) => {
  expect(describeAnswer(json)).toBe(line);
});
