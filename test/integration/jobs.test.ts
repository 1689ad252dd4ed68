import { cpSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openApi } from './support/api.ts';
import { summaryOf } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { runHere } from './support/program.ts';

const PROJECT = join(import.meta.dirname, '../..');
const JOBS = readdirSync(join(PROJECT, 'jobs')).filter((name) => name.endsWith('.yaml'));

describe('the job files of the project', () => {
  it('are one for each way of use', () => {
    expect(JOBS.sort()).toEqual(['backfill.yaml', 'nightly-crm.yaml', 'spreadsheet.yaml']);
  });

  it.each(JOBS)(
    '%s runs as it is against the sandbox, and costs nothing the second time',
    async (name) => {
      const api = await openApi();
      const folder = openFolder();
      for (const part of ['jobs', 'samples']) {
        cpSync(join(PROJECT, part), folder.at(part), { recursive: true });
      }
      const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
      const before = readdirSync(folder.at('samples'));
      const first = await runHere(['run', `jobs/${name}`, '--json'], options);
      expect(first.stderr).not.toContain('Note:');
      expect(first.code).toBe(0);
      expect(summaryOf(first).statuses.found).toBeGreaterThan(0);
      expect(folder.names().sort()).toEqual(['jobs', 'out', 'samples']);
      expect(folder.hasStore()).toBe(true);
      expect(readdirSync(folder.at('samples'))).toEqual(before);
      const second = await runHere(['run', `jobs/${name}`, '--json'], options);
      expect(summaryOf(second)).toMatchObject({ rows: summaryOf(first).rows, calls: 0 });
    },
  );
});

it.each([
  ['its failures', 'failures: ./job.yaml'],
  ['its rows', 'out: sub/../job.yaml'],
  ['its rows, through a link,', 'out: link.yaml'],
])('a job file whose place %s would take is refused', async (_, line) => {
  const folder = openFolder();
  folder.write('list.csv', 'domain\nacme.com\n');
  const text = `input: list.csv\nbaseUrl: http://127.0.0.1:9\n${line}\n`;
  folder.write('job.yaml', text);
  symlinkSync('job.yaml', folder.at('link.yaml'));
  const { code, stderr } = await runHere(['run', 'job.yaml'], { cwd: folder.path });
  expect(code).toBe(2);
  expect(stderr).toMatch(/Cannot write .*\.yaml: it is the job file itself/);
  expect(folder.read('job.yaml')).toBe(text);
});
