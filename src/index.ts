export type { EnrichedRow } from './collector/output/output-columns.ts';
export type { Plan } from './collector/plan.ts';
export { type AddOptions, type AddSummary, add } from './commands/add.ts';
export { type AppOptions, type RunningApp, startApp } from './commands/app.ts';
export { type Collected, type CollectOptions, collect } from './commands/collect.ts';
export { type DashboardOptions, dashboard } from './commands/dashboard.ts';
export type { EnrichOptions } from './commands/enrich.ts';
export { enrich, enrichRows, plan } from './commands/enrich.ts';
export {
  type JobEnd,
  type LoadedJob,
  type LoadJobOptions,
  loadJob,
  type RunJobOptions,
  runJob,
} from './commands/run.ts';
export {
  type ListSchedulesOptions,
  listSchedules,
  runScheduled,
  type ScheduleOptions,
  schedule,
} from './commands/schedule.ts';
export { type TryOptions, tryDomain } from './commands/try.ts';
export { type WorkerEnd, type WorkOptions, work } from './commands/worker.ts';
export { BrandfillError, type BrandfillErrorCode } from './common/errors.ts';
export { createRunControl, type RunControl } from './common/run-control.ts';
export type { OnFinish, Schedule } from './options/job-file.ts';
export type { ScheduledJob } from './queue/schedules.ts';
export type { ListInput } from './rows/list-input.ts';
export type { Trial, TrialAnswer, TrialColumn } from './run/trial.ts';
export type { SandboxOptions } from './sandbox/options.ts';
export { type Sandbox, startSandbox } from './sandbox/server.ts';
export type { RunEvent } from './watch/events.ts';
export type { RunView, Summary } from './watch/run-view.ts';
