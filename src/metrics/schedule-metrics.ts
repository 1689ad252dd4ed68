import { Gauge } from 'prom-client';
import { isDone } from '../exit-codes.ts';
import type { ScheduledJob } from '../schedule/list-schedules.ts';
import type { Metrics } from './metrics.ts';

/** Reads what is known of the jobs of a schedule; nothing when Redis does not answer. */
export type ReadSchedules = () => Promise<readonly ScheduledJob[]>;

/** Metrics of schedules, from what Redis knows about them: they outlive the process. */
export function measureSchedules(metrics: Metrics, read: ReadSchedules): void {
  const labelNames = ['run'];
  const registers = [metrics.registry];
  const next = new Gauge({
    name: 'brandfill_schedule_next_run_timestamp_seconds',
    help: 'Time at which the job is next due, in seconds since 1970.',
    labelNames,
    registers,
  });
  const running = new Gauge({
    name: 'brandfill_schedule_running',
    help: '1 while the job is running, on any machine, else 0.',
    labelNames,
    registers,
  });
  const ended = new Gauge({
    name: 'brandfill_schedule_last_run_timestamp_seconds',
    help: 'End time of the last run of the job, in seconds since 1970.',
    labelNames,
    registers,
  });
  const duration = new Gauge({
    name: 'brandfill_schedule_last_run_duration_seconds',
    help: 'Duration of the last run of the job.',
    labelNames,
    registers,
  });
  const exitCode = new Gauge({
    name: 'brandfill_schedule_last_run_exit_code',
    help: 'Exit code of the last run of the job: 0 done, 3 some rows failed or nothing was found, 4 stopped early, 2 could not be run.',
    labelNames,
    registers,
  });
  const success = new Gauge({
    name: 'brandfill_schedule_last_success_timestamp_seconds',
    help: 'Time at which a run of the job last ended with exit code 0 or 3, in seconds since 1970.',
    labelNames,
    registers,
  });
  const skipped = new Gauge({
    name: 'brandfill_schedule_last_run_skips',
    help: 'Number of times the job was due again during its last run; those runs were skipped.',
    labelNames,
    registers,
  });

  function set({ job, nextAt, runningSince, results }: ScheduledJob): void {
    const labels = { run: job };
    next.set(labels, secondsOf(nextAt));
    running.set(labels, runningSince === undefined ? 0 : 1);
    const [last] = results;
    const good = results.find((result) => isDone(result.exitCode));
    if (good) success.set(labels, secondsOf(good.finishedAt));
    if (!last) return;
    ended.set(labels, secondsOf(last.finishedAt));
    duration.set(labels, secondsOf(last.finishedAt) - secondsOf(last.startedAt));
    exitCode.set(labels, last.exitCode);
    skipped.set(labels, last.skipped);
  }

  metrics.onScrape(async () => {
    const jobs = await read().catch(() => []);
    for (const gauge of [next, running, ended, duration, exitCode, success, skipped]) gauge.reset();
    for (const job of jobs) set(job);
  });
}

function secondsOf(time: string): number {
  return Date.parse(time) / 1_000;
}
