export { openDashboard } from './open-dashboard.ts';
export { showOwnRun } from './own-run.ts';
export { createRunRecorder } from './run-recorder.ts';
