export {
  areBackfillsPaused,
  openBulkLookups,
  pauseBackfills,
  readBacklog,
  receiveOutcomes,
  resumeBackfills,
} from './bulk-lookups.ts';
export { createSharedCallLedger, createStoredPace } from './call-ledger.ts';
export {
  countWorkers,
  dropStopNotice,
  publishStopNotice,
  readWorkers,
} from './chunks/heartbeats.ts';
export { takeChunks } from './chunks/take-chunks.ts';
export { LOOKUPS_QUEUE, OUTCOMES_QUEUE } from './names.ts';
export { createQueueReader, openAllQueues, watchQueuePause } from './queues.ts';
export { announceRun, askRun, readRuns } from './runs/run-board.ts';
export { createLostRuns, openRunQueue } from './runs/run-queue.ts';
export { openScheduleQueue, withScheduleQueue } from './schedule-queue.ts';
export {
  dropGroup,
  findGroups,
  findScheduleProcesses,
  openScheduleResults,
  startScheduleHeartbeat,
  takeRuns,
} from './schedule-worker.ts';
export { findRedisTrouble, openQueueServer } from './server/queue-server.ts';
