import { randomBytes } from 'node:crypto';

/** The id of a run in logs, in its summary and in reports to others: 12 hexadecimal digits. */
export function createRunId(): string {
  return randomBytes(6).toString('hex');
}
