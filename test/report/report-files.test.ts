import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openReportFiles } from '../../src/report/report-files.ts';
import type { RunReport } from '../../src/report/run-report.ts';
import { useTempFolder } from '../support/temp-folder.ts';

it('writes the other reports when one of them has no folder any more', async () => {
  const folder = useTempFolder();
  const [lost, kept] = ['lost', 'kept'].map((name) => join(folder, name, 'run.json'));
  if (!lost || !kept) throw new Error('there are two');
  for (const name of ['lost', 'kept']) mkdirSync(join(folder, name));
  const files = await openReportFiles([lost, kept], undefined);
  rmSync(join(folder, 'lost'), { recursive: true });
  const errors: unknown[] = [];
  const report = { version: 1 } as unknown as RunReport;
  expect(await files.write(report, (error) => errors.push(error))).toEqual([kept]);
  expect(errors).toEqual([expect.objectContaining({ message: expect.stringContaining(lost) })]);
  expect(JSON.parse(readFileSync(kept, 'utf8'))).toEqual({ version: 1 });
  await files.close();
});
