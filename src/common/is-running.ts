import { systemErrorCode } from './errors.ts';

/** Whether a process of this machine is there; also one of another user, which takes no signals from us. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return systemErrorCode(error) !== 'ESRCH';
  }
}
