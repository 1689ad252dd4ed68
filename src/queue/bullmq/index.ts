export {
  areBackfillsPaused,
  pauseBackfills,
  readBacklog,
  resumeBackfills,
} from './backfills/backfill-pause.ts';
export { openBulkLookups } from './backfills/bulk-lookups.ts';
export { receiveOutcomes } from './backfills/receive-outcomes.ts';
export { createSharedCallLedger, createStoredPace } from './call-ledger.ts';
export { countWorkers, dropStopNotice, publishStopNotice, readWorkers } from './chunks/presence.ts';
export { takeChunks } from './chunks/take-chunks.ts';
export { LOOKUPS_QUEUE, OUTCOMES_QUEUE } from './names.ts';
export { createQueueReader, openAllQueues, watchQueuePause } from './queues.ts';
export { announceRun, askRun, readRuns } from './runs/run-board.ts';
export { createLostRuns, openRunQueue } from './runs/run-queue.ts';
export {
  announceKeeper,
  dropGroup,
  findGroups,
  findKeepers,
  openScheduleResults,
} from './schedules/schedule-keepers.ts';
export { openScheduleQueue, withScheduleQueue } from './schedules/schedule-queue.ts';
export { takeRuns } from './schedules/schedule-worker.ts';
export { findRedisTrouble, openQueueServer } from './server/queue-server.ts';
