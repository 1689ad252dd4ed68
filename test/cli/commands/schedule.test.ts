import { describe, expect, it } from 'vitest';
import { describeSchedules } from '../../../src/cli/commands/schedule.ts';
import type { ScheduledJob, ScheduledResult } from '../../../src/queue/schedules.ts';

const RESULT: ScheduledResult = {
  startedAt: '2026-11-21T01:30:00.042Z',
  finishedAt: '2026-11-21T01:42:00.042Z',
  exitCode: 4,
  headline: 'Stopped early: 51,204 rows in 12 min, 48,090 found, 3,114 skipped.',
  host: 'crm-1',
};

const JOB: ScheduledJob = {
  job: 'nightly-crm',
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  nextAt: '2026-11-22T01:30:00.000Z',
  isWaiting: false,
  isKept: true,
  results: [RESULT],
};

describe('describeSchedules', () => {
  it('shows a job in three lines, at the times of its place', () => {
    expect(describeSchedules([JOB])).toEqual([
      'nightly-crm: 30 2 * * * (Europe/Berlin)',
      '  next 2026-11-22 02:30:00',
      '  last 2026-11-21 02:30:00, exit code 4. Stopped early: 51,204 rows in 12 min, 48,090 found, 3,114 skipped.',
    ]);
  });

  it.each<[Partial<ScheduledJob>, string]>([
    [{ results: [] }, 'last never'],
    [{ runningSince: '2026-11-22T01:30:00.000Z' }, ', runs since 2026-11-22 02:30:00'],
    [{ isWaiting: true }, ', waits to be run'],
    [{ timezone: 'Mars/Olympus' }, 'Mars/Olympus, a time zone that this Node.js does not know'],
    [{ isKept: false }, 'No process is there to run them; start brandfill schedule.'],
    [
      {
        results: [{ ...RESULT, exitCode: 2, headline: 'Cannot read crm.csv: permission denied.' }],
      },
      'exit code 2. Cannot read crm.csv: permission denied.',
    ],
  ])('says of %j: %s', (more, words) => {
    expect(describeSchedules([{ ...JOB, ...more }]).join('\n')).toContain(words);
  });

  it('says when there is nothing', () => {
    expect(describeSchedules([])).toEqual(['Nothing is scheduled.']);
  });
});
