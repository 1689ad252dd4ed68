import { Writable } from 'node:stream';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openDisplay, openJobDisplay } from '../../src/watch/display.ts';
import type { Progress } from '../../src/watch/events.ts';
import { openLog } from '../../src/watch/log.ts';
import { recordRun } from '../../src/watch/record-run.ts';
import { PROGRESS } from './progress.ts';

const PACE = { limit: { limitIs: 'unknown' }, waitMs: 0 } as const;
const OUT = { ...PACE, failing: { isOut: true, lastedMs: 0, reason: 'timeout' } } as const;
const failing = { isOut: false, lastedMs: 70_000, reason: 'http_403' };
const REFUSED = { ...PACE, failing } as const;
const MINUTE_MS = 60_000;

it.each<[what: string, wait: Partial<Progress>, minutes: number, lines: number]>([
  ['nothing', {}, 60, 720],
  ['an outage', { pace: OUT }, 60, 7],
  ['an outage of a night', { pace: OUT }, 480, 49],
  ['refusals of all', { pace: REFUSED }, 60, 7],
  ['workers', { stall: { why: 'no_worker', text: 'No worker is there' } }, 60, 7],
  ['an hour, as stated', { pace: { ...PACE, waitMs: 3_600_000, statedMs: 3_600_000 } }, 60, 7],
  ['a second, as stated', { pace: { ...PACE, waitMs: 1_000, statedMs: 1_000 } }, 60, 720],
])(
  'a log that waits for %s has a line when that begins, every ten minutes and when it ends',
  (_, wait, minutes, expected) => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const lines: string[] = [];
    const stream = { write: (line: string) => lines.push(line) > 0 };
    const log = openLog({ format: 'text', level: 'info', stream, redact: (text) => text });
    const recorder = recordRun({ runId: 'abc', list: 'list.csv', api: '' });
    const display = openJobDisplay(log, { job: 'night', run: 'abc' });
    display.onRecorder(recorder);
    let lookupMs = 0;
    const pass = (change: Partial<Progress>, ms: number): void => {
      for (let passed = 0; passed < ms; passed += 5_000) {
        vi.advanceTimersByTime(5_000);
        lookupMs += 5_000;
        const progress = { ...PROGRESS, due: 6, calls: 1, lookupMs, ...change };
        const event = { type: 'progress', ...progress } as const;
        recorder.onEvent(event);
        display.show(event);
      }
    };
    pass({}, 5_000);
    expect(lines).toHaveLength(1);
    pass(wait, minutes * MINUTE_MS);
    expect(lines.length - 1).toBeGreaterThanOrEqual(expected - 1);
    expect(lines.length - 1).toBeLessThanOrEqual(expected);
    pass({}, 5_000);
    expect(lines.length - 1).toBeLessThanOrEqual(expected + 2);
  },
);

it.each([
  [50, false],
  [70, true],
])(
  'somebody at a terminal who waits for %i s is told how to end it: %s',
  async (seconds, isTold) => {
    // Given a run at a terminal
    let shown = '';
    const terminal = new Writable({
      write: (bytes, _, done) => {
        shown += String(bytes);
        done();
      },
    });
    const stream = Object.assign(terminal, { isTTY: true, columns: 100, rows: 40 }) as Writable &
      NodeJS.WriteStream;
    const log = openLog({ format: 'shown', level: 'info', stream, redact: (text) => text });
    const options = { log, level: 'info', progress: 'bar', stream } as const;
    const display = await openDisplay({ ...options, redact: (text) => text });
    const recorder = recordRun({ runId: 'abc', list: 'list.csv', api: '' });
    display.onRecorder(recorder);
    // When its key is refused for so long
    const refused = { ...failing, reason: 'http_401', lastedMs: seconds * 1_000 };
    const progress = { ...PROGRESS, due: 6, calls: 1, pace: { ...PACE, failing: refused } };
    recorder.onEvent({ type: 'progress', ...progress });
    display.show({ type: 'progress', ...progress });
    display.end();
    // Then it says so, and after a minute what is kept
    expect(shown).toMatch(
      /has refused every call since .* \(it refuses the key, 401\); trying it now/,
    );
    expect(shown.includes('Ctrl-C ends the run: what was found is kept')).toBe(isTold);
  },
);
