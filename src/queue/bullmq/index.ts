export { openAllQueues } from './all-queues.ts';
export {
  areBackfillsPaused,
  pauseBackfills,
  readBacklog,
  resumeBackfills,
} from './backfill-pause.ts';
export { openBulkLookups } from './bulk-lookups.ts';
export { createSharedCallLedger } from './call-budget.ts';
export { dropLastWords, leaveLastWords } from './last-words.ts';
export { openQueueServer } from './open-queue-server.ts';
export { countWorkers, readWorkers } from './presence.ts';
export { createQueueReader } from './queue-depth.ts';
export { receiveOutcomes } from './receive-outcomes.ts';
export { findRedisTrouble } from './redis-trouble.ts';
export { announceRun, askRun, readRuns } from './run-board.ts';
export { openRunQueue } from './run-queue.ts';
export {
  announceKeeper,
  dropGroup,
  findGroups,
  findKeepers,
} from './schedule-keepers.ts';
export { openScheduleQueue } from './schedule-queue.ts';
export { openScheduleResults } from './schedule-results.ts';
export { takeRuns } from './schedule-worker.ts';
export { createStoredPace } from './stored-pace.ts';
export { takeChunks } from './take-chunks.ts';
