import { expect } from 'vitest';
import { type JobFile, parseJobFile } from '../../src/options/job-file.ts';

/** Reads the text of a job file as if it were `jobs/job.yaml`, on 21 November 2026 at noon. */
export function readJob(text: string, env: Readonly<Record<string, string>> = {}): JobFile {
  return parseJobFile('jobs/job.yaml', text, { env, now: new Date('2026-11-21T12:00:00Z') });
}

/** What a job file is refused with. */
export function refusalOf(text: string, env?: Readonly<Record<string, string>>): string {
  const { error } = readJob(text, env);
  expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
  return error?.message ?? '';
}
