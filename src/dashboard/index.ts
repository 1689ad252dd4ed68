export { openDashboard } from './open-dashboard.ts';
export { showOwnRun } from './own-run.ts';
