export { Producer } from './add-jobs.ts';
export {
  announceRun,
  askRun,
  createQueueReader,
  findServing,
  readRuns,
  readShownWorkers,
  takeFailedAgain,
} from './board.ts';
export { createSharedCallLedger, paceKey } from './call-ledger.ts';
export { collectOutcomes } from './collect-outcomes.ts';
export { openQueueServer } from './redis.ts';
export { openRunQueue } from './run-queue.ts';
export { keepSchedules, openSchedules } from './schedules.ts';
export { JobTaker } from './take-jobs.ts';
