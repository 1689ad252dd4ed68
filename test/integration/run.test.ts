import { chmodSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openScripted, openServer } from './support/api.ts';
import { type CommandOptions, enrichHere, runHere, summaryOf } from './support/command.ts';
import { type Folder, LIST, openList } from './support/folder.ts';
import { expectRefusal } from './support/refusals.ts';

/** A folder with `list.csv`, and `jobs/job.yaml` that says this. */
function openJob(text: string): Folder {
  const folder = openList(LIST);
  mkdirSync(folder.at('jobs'));
  folder.write('jobs/job.yaml', text);
  return folder;
}

const runJob = (folder: Folder, flags: readonly string[] = [], env: CommandOptions['env'] = {}) =>
  runHere(['run', 'jobs/job.yaml', ...flags], { cwd: folder.path, env });

describe('brandfill run', () => {
  it('does what enrich does with the same settings', async () => {
    const api = await openScripted({ 'bolt.com': { status: 404 } });
    const folder = openJob(`
      input: ../list.csv
      baseUrl: ${api.url}
      out: ../run/out.csv
      failures: ../run/failures.csv
      fields: { name: name }
    `);
    const ran = await runJob(folder, ['--json']);
    const flags = ['--out', 'out.csv', '--failures', 'failures.csv', '--fields', 'name=name'];
    const enriched = await enrichHere(folder, api.url, ...flags, '--json');
    expect([ran.code, enriched.code]).toEqual([0, 0]);
    expect(folder.read('run/out.csv')).toBe(folder.read('out.csv'));
    expect(folder.read('run/failures.csv')).toBe(folder.read('failures.csv'));
    expect(Object.keys(summaryOf(ran))).toEqual(Object.keys(summaryOf(enriched)));
    expect(summaryOf(ran)).toMatchObject({ calls: 2, out: 'run/out.csv' });
    expect(ran.stderr).toContain("in column 'domain'");
  });

  it.each([
    ['jobs/job.yaml', 'as jobs/job\\.yaml says, and'],
    [
      'jobs/own.yaml',
      'A profile names a credential and where it is sent, as \\S*own\\.yaml does, and',
    ],
  ])('warns of a file that others can change: %s', async (name, told) => {
    const api = await openScripted({});
    const folder = openJob('{ input: ../list.csv, api: own.yaml, out: out.csv }');
    folder.write('jobs/own.yaml', `request: { baseUrl: "${api.url}" }`);
    const { code, stderr } = await runJob(folder);
    expect([code, stderr]).toEqual([0, expect.not.stringMatching(/can change it/)]);
    chmodSync(folder.at(name), 0o646);
    expect((await runJob(folder)).stderr).toMatch(
      new RegExp(`${told} every user of this machine can change it`),
    );
  });

  it('takes flags before the file, the file before the environment, that before the defaults', async () => {
    const server = await openServer();
    const folder = openJob(`
      input: ../list.csv
      baseUrl: ${server.url}
      prefix: file_
      params: [from=file]
      store: from-file
    `);
    const env = {
      BRANDFILL_BASE_URL: 'http://127.0.0.1:9',
      BRANDFILL_STORE: 'from-env',
      BRANDFILL_AUTH: 'bearer',
      BRANDFILL_API_KEY: 'k3y',
    };
    const ended = await runJob(folder, ['--param', 'from=flag'], env);
    expect(ended).toMatchObject({ code: 0 });
    expect(server.requests[0]?.url).toContain('&from=flag');
    expect(server.requests[0]?.headers.authorization).toBe('Bearer k3y');
    expect(folder.read('list.enriched.csv')).toContain('file_domain,file_status');
    expect(existsSync(folder.at('jobs/from-file'))).toBe(true);
    expect(existsSync(folder.at('from-env'))).toBe(false);
  });

  it('keeps its answers beside the file, or where the environment says', async () => {
    const api = await openScripted({});
    const folder = openJob(`input: ../list.csv\nbaseUrl: ${api.url}`);
    await runJob(folder, ['--out', 'first.csv']);
    expect(existsSync(folder.at('jobs/.brandfill/brandfill-store/data.mdb'))).toBe(true);
    await runJob(folder, [], { BRANDFILL_STORE: 'from-env' });
    expect(existsSync(folder.at('from-env/brandfill-store/data.mdb'))).toBe(true);
  });

  it('takes another list, from the folder one is in', async () => {
    const api = await openScripted({});
    const folder = openJob(`input: none.csv\nbaseUrl: ${api.url}`);
    const ended = await runJob(folder, ['--input', 'list.csv', '--json']);
    expect(summaryOf(ended)).toMatchObject({ rows: 2, out: 'list.enriched.csv' });
  });

  it('--dry-run shows the plan, calls nothing and tells nobody', async () => {
    const api = await openScripted({});
    const folder = openJob(
      `input: ../list.csv\nbaseUrl: ${api.url}\nonFinish: { command: touch told }`,
    );
    const dry = await runJob(folder, ['--dry-run']);
    expect(dry).toMatchObject({ code: 0, stdout: '' });
    expect(dry.stderr).toContain('  calls    2 to make');
    expect([api.stats().calls, folder.names()]).toEqual([0, ['jobs', 'list.csv']]);
    expect(readdirSync(folder.at('jobs'))).toEqual(['job.yaml']);
    await runJob(folder, ['--max-calls', '1']);
    const { stdout } = await runJob(folder, ['--dry-run', '--json']);
    const plan = { rows: 2, uniqueDomains: 2, freshDomains: 1, lookups: 1 };
    expect(JSON.parse(stdout)).toMatchObject(plan);
  });

  it.each([
    [
      'baseUrl: http://127.0.0.1:9',
      /jobs\/job\.yaml: it names no list; give 'input' in it, or --input/,
    ],
    ['input: ../list.csv', /without a base URL: give 'baseUrl' in jobs\/job\.yaml, or set/],
  ])('says in one sentence what is wrong: %j', async (text, expected) => {
    const folder = openJob(text);
    const ended = await runJob(folder);
    expectRefusal(ended, expected);
    expect(folder.names()).toEqual(['jobs', 'list.csv']);
  });

  it('says that there is no such file, or that it is a list', async () => {
    const folder = openJob('');
    const cwd = folder.path;
    expectRefusal(await runHere(['run', 'no.yaml'], { cwd }), /no\.yaml: there is no such file/);
    expectRefusal(await runHere(['run', 'list.csv'], { cwd }), /brandfill enrich/);
  });
});

describe('the credential of a job', () => {
  const SECRET = 's3cret-k3y';

  it.each([
    ['apiKeyEnv: CRM_KEY', [], `Bearer ${SECRET}`],
    ['apiKeyFile: key.txt', [], 'Bearer from-file'],
    ['apiKeyFile: none.txt', ['--api-key-file', 'jobs/key.txt'], 'Bearer from-file'],
  ])('comes from %j with flags %j', async (line, flags, expected) => {
    const server = await openServer();
    const folder = openJob(`input: ../list.csv\nauth: bearer\nbaseUrl: ${server.url}\n${line}`);
    folder.write('jobs/key.txt', 'from-file\n');
    const env = { CRM_KEY: SECRET, BRANDFILL_API_KEY: 'standard' };
    const ended = await runJob(folder, flags, env);
    expect(ended.code).toBe(0);
    expect(server.requests[0]?.headers.authorization).toBe(expected);
    expect(ended.stdout + ended.stderr).not.toContain(SECRET);
  });

  it.each([
    [
      'apiKeyEnv: s3cret_k3y',
      /'apiKeyEnv' in .*job\.yaml:1:12: the environment has no such variable/,
    ],
    ['apiKeyFile: s3cret-k3y', /'apiKeyFile' in .*job\.yaml:1:13: there is no such file/],
  ])('is refused and not repeated: %j', async (text, expected) => {
    const folder = openJob(`${text}\ninput: ../list.csv\nbaseUrl: http://127.0.0.1:9`);
    const ended = await runJob(folder, [], { CRM_KEY: SECRET });
    expectRefusal(ended, expected);
    expect(ended.stderr).not.toMatch(/s3cret.k3y/);
  });
});
