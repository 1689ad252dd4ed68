import { describe, expect, it } from 'vitest';
import { describeSchedules } from '../../src/commands/schedule.ts';
import type { ScheduledJob } from '../../src/queue/schedules.ts';

const JOB: ScheduledJob = {
  job: 'nightly-crm',
  group: 'jobs-3f9a1c',
  cron: '30 2 * * *',
  timezone: 'Europe/Berlin',
  nextAt: '2026-11-22T01:30:00.000Z',
  isWaiting: false,
  isKept: true,
  results: [
    {
      why: 'due',
      startedAt: '2026-11-21T01:30:00.042Z',
      finishedAt: '2026-11-21T01:42:00.042Z',
      exitCode: 4,
      rows: 51_204,
      found: 48_090,
      failed: 12,
      calls: 1_000,
      stopped: 'max_calls',
      host: 'crm-1',
    },
  ],
};

describe('describeSchedules', () => {
  it('shows a job in a line, at the times of its place', () => {
    const [head, line, ...others] = describeSchedules([JOB]);
    expect(head?.split(/ {2,}/).join()).toBe(
      'job,schedule,next,last,took,exit,rows,found,failed,calls,stopped',
    );
    expect(line?.split(/ {2,}/).join('|')).toBe(
      'nightly-crm|30 2 * * * (Europe/Berlin)|2026-11-22 02:30:00|2026-11-21 02:30:00|12 min|4|51,204|48,090|12|1,000|max_calls',
    );
    expect(others).toEqual([]);
  });

  it.each([
    [{ results: [] }, 'never'],
    [{ runningSince: '2026-11-22T01:30:00.000Z' }, 'runs since 2026-11-22 02:30:00'],
    [{ isWaiting: true }, 'waits to be run'],
    [{ isKept: false }, "No process is there to run 'jobs-3f9a1c'; start brandfill schedule."],
  ])('says of %j: %s', (more, words) => {
    expect(describeSchedules([{ ...JOB, ...more }]).join('\n')).toContain(words);
  });

  it('shows the times in UTC where this machine does not know the time zone', () => {
    const [, line] = describeSchedules([{ ...JOB, timezone: 'Mars/Olympus' }]);
    expect(line).toContain('30 2 * * * (Mars/Olympus)  2026-11-22 01:30:00 UTC  2026-11-21 01');
  });

  it('says why the last run could not be made', () => {
    const [last] = JOB.results;
    if (!last) throw new Error('There is one.');
    const failed = { ...last, exitCode: 2, error: 'Cannot read crm.csv: permission denied.' };
    expect(describeSchedules([{ ...JOB, results: [failed] }]).at(-1)).toBe(
      'nightly-crm: Cannot read crm.csv: permission denied.',
    );
  });

  it('says when there is nothing', () => {
    expect(describeSchedules([])).toEqual(['Nothing is scheduled.']);
  });
});
