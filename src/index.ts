export { type AddOptions, type AddSummary, add } from './add.ts';
export { type Collected, type CollectOptions, collect } from './collect.ts';
export type { EnrichedRow } from './collector/row-object.ts';
export { BrandfillError, type BrandfillErrorCode } from './common/errors.ts';
export { createRunControl, type RunControl } from './common/run-control.ts';
export { type DashboardOptions, dashboard } from './dashboard.ts';
export { enrich, enrichRows, plan } from './enrich.ts';
export type { EnrichOptions } from './enrich-options.ts';
export type { OnFinish } from './job/job-file/on-finish-keys.ts';
export type { Schedule } from './job/job-file/schedule.ts';
export { type LoadedJob, type LoadJobOptions, loadJob } from './load-job.ts';
export type { Plan } from './producer/plan.ts';
export type { RunReport } from './report/run-report.ts';
export type { ListInput } from './rows/list-input.ts';
export type { Trial, TrialAnswer, TrialColumn } from './run/run-to-trial.ts';
export { type JobEnd, type RunJobOptions, runJob } from './run-job.ts';
export type { SandboxOptions } from './sandbox/options.ts';
export type { SandboxRule } from './sandbox/script-rule.ts';
export { type Sandbox, startSandbox } from './sandbox/server.ts';
export type { ScheduledJob } from './schedule/list-schedules.ts';
export { type ScheduleOptions, schedule } from './schedule.ts';
export { type ListSchedulesOptions, listSchedules, runScheduled } from './scheduled.ts';
export type { Deleted, Pruned, StoreStats } from './store/stats.ts';
export type { StoreChoice } from './store-upkeep/store-choice.ts';
export { type Imported, type ImportOptions, importStore } from './store-upkeep/store-import.ts';
export {
  type DeleteStoredOptions,
  deleteStored,
  type ExportOptions,
  exportStore,
  findStored,
  type GetStoredOptions,
  type PruneStoreOptions,
  pruneStore,
  readStoreStats,
} from './store-upkeep/store-upkeep.ts';
export { type TryOptions, tryDomain } from './try.ts';
export type { RunEvent, WorkProgress } from './watch/events.ts';
export type { Summary } from './watch/summary.ts';
export { type WorkerEnd, type WorkOptions, work } from './work.ts';
