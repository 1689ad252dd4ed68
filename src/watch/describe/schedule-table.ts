import { formatDuration } from '../../common/format.ts';
import { isTimezone } from '../../options/cron.ts';
import type { ScheduledResult } from '../../queue/bullmq/schedules/schedule-keepers.ts';
import type { ScheduledJob } from '../../schedule/list-schedules.ts';

/** Shows schedules as a table in lines, followed by remarks. */
export function describeSchedules(jobs: readonly ScheduledJob[]): readonly string[] {
  if (jobs.length === 0) return ['Nothing is scheduled.'];
  const rows = jobs.map((job) => [job.job, describeWhen(job), ...describeLast(job)]);
  const orphans = [...new Set(jobs.filter(({ isKept }) => !isKept).map(({ group }) => group))];
  const errors = jobs.flatMap(({ job, results: [last] }) =>
    last?.error === undefined ? [] : [`${job}: ${last.error}`],
  );
  return [
    ...toTable([HEAD, ...rows]),
    ...errors,
    ...orphans.map((group) => `No process is there to run '${group}'; start brandfill schedule.`),
  ];
}

const HEAD = [
  'job',
  'schedule',
  'next',
  'last',
  'took',
  'exit',
  'rows',
  'found',
  'failed',
  'calls',
  'skipped',
  'stopped',
];
/** Columns of numbers. */
const RIGHT = new Set([4, 5, 6, 7, 8, 9, 10]);

function describeWhen({ cron, timezone }: ScheduledJob): string {
  return `${cron} (${timezone})`;
}

function describeLast({
  nextAt,
  timezone,
  runningSince,
  isWaiting,
  results: [last],
}: ScheduledJob): readonly string[] {
  const next = inZone(nextAt, timezone);
  const state =
    runningSince === undefined
      ? isWaiting && 'waits to be run'
      : `runs since ${inZone(runningSince, timezone)}`;
  const results = last ? describeResult(last, timezone) : ['never'];
  return [state ? `${next}, ${state}` : next, ...results];
}

function describeResult(result: ScheduledResult, timezone: string): readonly string[] {
  const { startedAt, finishedAt, exitCode, rows, found, failed, calls, skipped, stopped } = result;
  const counts = [rows, found, failed, calls, skipped].map((count) =>
    count === undefined ? '' : count.toLocaleString('en-US'),
  );
  const tookMs = Date.parse(finishedAt) - Date.parse(startedAt);
  return [
    inZone(startedAt, timezone),
    formatDuration(tookMs),
    String(exitCode),
    ...counts,
    stopped ?? (result.error === undefined ? '' : 'error'),
  ];
}

/**
 * `2026-11-21 02:30:00`, on the clocks of a time zone; in UTC if only other machines know the zone.
 */
function inZone(time: string, timeZone: string): string {
  if (!isTimezone(timeZone)) return `${inZone(time, 'UTC')} UTC`;
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(time));
}

function toTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEAD.map((_, at) => Math.max(...rows.map((row) => (row[at] ?? '').length)));
  return rows.map((row) =>
    widths
      .map((width, at) => {
        const cell = row[at] ?? '';
        return RIGHT.has(at) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join('  ')
      .trimEnd(),
  );
}
