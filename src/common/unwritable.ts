import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeSystemError, systemErrorCode } from './errors.ts';

/** Explains why a file cannot be written, and what to do if its folder is missing. */
export function describeUnwritable(path: string, error: unknown): string {
  const folder = dirname(path);
  return systemErrorCode(error) === 'ENOENT' && !existsSync(folder)
    ? `there is no folder ${folder}; make it first`
    : describeSystemError(error);
}
