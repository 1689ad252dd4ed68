import { randomBytes } from 'node:crypto';

/** What a run is called in logs, in its summary and where that is sent: 12 hexadecimal digits. */
export function createRunId(): string {
  return randomBytes(6).toString('hex');
}
