import { make, table } from './dom.js';
import { count, counted, duration, time } from './format.js';

/** @import { ScheduleState, WorkerState } from '../board.ts' */

/** @param {readonly WorkerState[]} workers */
export function workersTable(workers) {
  const rows = workers.map(({ host, pid, concurrency, calls, holds, trouble }) => [
    `${host}, process ${pid}`,
    trouble ?? (holds.length === 0 ? 'nothing' : make('ul', {}, ...holds.map(holdOf))),
    count(concurrency),
    calls === undefined ? '–' : count(calls),
  ]);
  return table('Workers and what they hold', ['Worker', 'Holds', 'At once', 'Calls made'], rows);
}

/** @param {WorkerState['holds'][number]} load */
function holdOf({ of, chunks, lookups, sinceMs }) {
  const size =
    counted(lookups, 'lookup') + (chunks === undefined ? '' : ` in ${counted(chunks, 'chunk')}`);
  return make('li', {}, `${size} of ${of}, since ${duration(Date.now() - sinceMs)}`);
}

/**
 * @param {readonly ScheduleState[]} schedules
 * @param {(group: string, job: string) => void} runNow
 */
export function schedulesTable(schedules, runNow) {
  const rows = schedules.map((schedule) => {
    const { group, job, cron, timezone, nextAt, last } = schedule;
    const button = make('button', { type: 'button', 'aria-label': `Run now: ${job}` }, 'Run now');
    button.addEventListener('click', () => runNow(group, job));
    button.disabled = schedule.runningSince !== undefined || schedule.isWaiting;
    const { runningSince } = schedule;
    const next = runningSince === undefined ? time(nextAt) : `runs since ${time(runningSince)}`;
    return [
      `${job} (${group})`,
      `${cron} ${timezone}`,
      schedule.isWaiting ? 'asked for' : next,
      last ? `${time(last.finishedAt)}: ${last.text}` : 'never',
      schedule.isKept ? 'yes' : 'no: start brandfill schedule',
      button,
    ];
  });
  const columns = ['Job', 'When', 'Next run', 'Last run', 'Kept', ''];
  return table('Schedules', columns, rows);
}
