export { openProducer } from './add-jobs.ts';
export {
  announceRun,
  askRun,
  createQueueReader,
  findServing,
  openAllQueues,
  readRuns,
  readWorkers,
} from './board.ts';
export { createSharedCallLedger, paceKey } from './call-ledger.ts';
export { collectOutcomes } from './collect-outcomes.ts';
export { findRedisTrouble, openQueueServer } from './redis.ts';
export { openRunQueue } from './run-queue.ts';
export { keepSchedules, openSchedules } from './schedules.ts';
export { takeJobs } from './take-jobs.ts';
