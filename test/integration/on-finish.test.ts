import { describe, expect, it } from 'vitest';
import { openScripted } from './support/api.ts';
import { run, runHere, startHere } from './support/command.ts';
import { type Folder, LIST, openList } from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

const SECRET = 's3cret-k3y';
const TOKEN = 'a-token-for-the-dashboard';
const KEEP = 'command: cat > told.json && env > env.txt';

function openJob(text: string): Folder {
  const folder = openList(LIST);
  folder.write('job.yaml', text);
  return folder;
}

function told(folder: Folder): object {
  return JSON.parse(folder.read('told.json')) as object;
}

describe('onFinish', () => {
  it('gives a command the report, but neither the credential nor the token of the dashboard', async () => {
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const folder = openJob(`
      input: list.csv
      baseUrl: ${api.url}
      auth: bearer
      apiKeyEnv: CRM_KEY
      changes: new.csv
      onFinish: { ${KEEP} }
    `);
    const keys = { CRM_KEY: SECRET, BRANDFILL_API_KEY: SECRET };
    const env = { ...keys, BRANDFILL_DASHBOARD_TOKEN: TOKEN, OTHER: 'kept' };
    const ended = await run(['run', 'job.yaml', '--json'], { cwd: folder.path, env });
    expect(ended.code).toBe(0);
    const { runId, statuses, calls } = JSON.parse(ended.stdout) as Record<string, unknown>;
    expect(told(folder)).toMatchObject({
      runId,
      statuses,
      calls,
      job: 'job',
      file: folder.at('job.yaml'),
      exitCode: 0,
      startedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      finishedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      text: expect.stringMatching(/^brandfill job: Done: 2 rows in .*, 1 found, 1 not found\.\n/),
      out: folder.at('list.enriched.csv'),
      failures: folder.at('list.failures.csv'),
      store: { folder: folder.at('.brandfill'), sizeBytes: expect.any(Number) },
    });
    const variables = folder.read('env.txt');
    expect(variables).toMatch(/^BRANDFILL_EXIT_CODE=0$/m);
    expect(variables).toMatch(/^BRANDFILL_ROWS=2$/m);
    expect(variables).toContain(`\nBRANDFILL_CHANGES=${folder.at('new.csv')}\n`);
    expect(variables).toMatch(/^OTHER=kept$/m);
    const all = variables + folder.read('told.json') + ended.stderr;
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain(TOKEN);
  });

  it.each([
    ['the list is gone', 'input: none.csv', /none\.csv: there is no such file/],
    ['the job file is wrong', 'input: list.csv\nfreshh: 1d', /did you mean 'fresh'/],
    ['a variable is not set', 'input: ${NONE}', /no variable NONE/],
  ])('is done when %s', async (_, lines, expected) => {
    const folder = openJob(`${lines}\nbaseUrl: http://127.0.0.1:9\nonFinish: { ${KEEP} }`);
    expectRefusal(await runHere(['run', 'job.yaml'], { cwd: folder.path }), expected);
    expect(told(folder)).toMatchObject({
      job: 'job',
      runId: expect.stringMatching(/^[0-9a-f]{12}$/),
      exitCode: 2,
      error: expect.stringMatching(expected),
    });
    const variables = folder.read('env.txt');
    expect(variables).toMatch(/^BRANDFILL_EXIT_CODE=2$/m);
    expect(variables).toMatch(/^BRANDFILL_ERROR=Cannot /m);
    expect(variables).not.toMatch(/BRANDFILL_ROWS|undefined/);
  });

  it('is done when the run is interrupted', async () => {
    const api = await openScripted({}, { latencyMs: 60_000 });
    const folder = openJob(`input: list.csv\nbaseUrl: ${api.url}\nonFinish: { ${KEEP} }`);
    const running = startHere(['run', 'job.yaml'], { cwd: folder.path });
    await running.shows(' to make');
    await expect.poll(() => api.stats().calls).toBeGreaterThan(0);
    expect((await running.stop()).code).toBe(130);
    expect(told(folder)).toMatchObject({ exitCode: 130, stopped: { reason: 'interrupted' } });
  });
});
