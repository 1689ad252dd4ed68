export { createLiveRun } from './live-run.ts';
export { openDashboard } from './open-dashboard.ts';
export { showOwnRun } from './own-run.ts';
