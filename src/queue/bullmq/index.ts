export { openAllQueues } from './all-queues.ts';
export {
  areBackfillsPaused,
  pauseBackfills,
  readBacklog,
  resumeBackfills,
} from './backfills/backfill-pause.ts';
export { openBulkLookups } from './backfills/bulk-lookups.ts';
export { receiveOutcomes } from './backfills/receive-outcomes.ts';
export { createSharedCallLedger } from './call-budget.ts';
export { countWorkers, readWorkers } from './chunks/presence.ts';
export { dropStopNotice, publishStopNotice } from './chunks/stop-notice.ts';
export { takeChunks } from './chunks/take-chunks.ts';
export { LOOKUPS_QUEUE, OUTCOMES_QUEUE } from './names.ts';
export { createQueueReader } from './queue-depth.ts';
export { watchQueuePause } from './queue-pause.ts';
export { createLostRuns } from './runs/lost-runs.ts';
export { announceRun, askRun, readRuns } from './runs/run-board.ts';
export { openRunQueue } from './runs/run-queue.ts';
export {
  announceKeeper,
  dropGroup,
  findGroups,
  findKeepers,
} from './schedules/schedule-keepers.ts';
export { openScheduleQueue, withScheduleQueue } from './schedules/schedule-queue.ts';
export { openScheduleResults } from './schedules/schedule-results.ts';
export { takeRuns } from './schedules/schedule-worker.ts';
export { openQueueServer } from './server/open-queue-server.ts';
export { findRedisTrouble } from './server/redis-trouble.ts';
export { createStoredPace } from './stored-pace.ts';
