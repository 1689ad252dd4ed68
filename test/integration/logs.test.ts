import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { openApi, openServer } from './support/api.ts';
import { enrichHere, run, runHere, start, summaryOf } from './support/command.ts';
import { objectsOf, openFolder, openList } from './support/folder.ts';

const JSON_FORMAT = ['--log-format', 'json'];
const REPORTS = ['--report', 'run.html', '--report', 'run.json'];

it('the log of enrich is JSON where it is told so, and every line has the id that is in the summary', async () => {
  const api = await openApi({ notFound: 0.5, seed: 3 });
  const folder = openList(20);
  const ended = await enrichHere(folder, api.url, '--json', ...JSON_FORMAT);
  const { runId, rows } = summaryOf(ended);
  expect(runId).toMatch(/^[0-9a-f]{12}$/);
  const lines = objectsOf(ended.stderr);
  expect(lines.map(({ event }) => event)).toEqual(['opened', 'planned', 'progress', 'finished']);
  expect(new Set(lines.map(({ run }) => run))).toEqual(new Set([runId]));
  expect(lines[1]).toMatchObject({ level: 'info', plan: { rows, lookups: 20 } });
  expect(lines[3]).toMatchObject({ summary: { runId, rows: 20 } });
});

describe('the credential', () => {
  const KEY = 'k3y"with/odd signs+%';

  /** Answers with the credential in all that a server may send back. */
  async function openEcho() {
    return await openServer((request, response) => {
      const told = `${request.url} ${String(request.headers.authorization)}`;
      response.statusCode = /-[0-4]\./.test(told) ? 422 : /-5\./.test(told) ? 200 : 500;
      response.setHeader('content-type', 'application/json');
      const said = `bad: ${told} ${KEY}`;
      response.end(JSON.stringify(response.statusCode === 200 ? { name: said } : { error: said }));
    });
  }

  function findForms(text: string): readonly string[] {
    const forms = [
      KEY,
      encodeURIComponent(KEY),
      JSON.stringify(KEY).slice(1, -1),
      JSON.stringify(JSON.stringify(KEY).slice(1, -1)).slice(1, -1),
      KEY.replaceAll('"', '""'),
      KEY.replaceAll('"', '&quot;'),
      KEY.replaceAll('"', '&#34;'),
      Buffer.from(KEY).toString('base64'),
      Buffer.from(`${KEY}:`).toString('base64'),
    ];
    return forms.filter((form) => text.includes(form));
  }

  function readAll(folder: string): string {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
      .join('\n');
  }

  it.each([
    ['bearer', []],
    ['query:key', []],
    ['basic', JSON_FORMAT],
    ['header:x-key', [...JSON_FORMAT, '--log-level', 'debug']],
  ])('is in nothing that a run writes: --auth %s %j', async (auth, flags) => {
    const { url, requests } = await openEcho();
    const folder = openList(12);
    const args = ['enrich', 'list.csv', '--base-url', url, '--auth', auth, '--retries', '0'];
    const options = { cwd: folder.path, env: { BRANDFILL_API_KEY: KEY } };
    const more = ['--json', ...REPORTS, '--changes', 'changes.csv', '--max-outage', '1ms'];
    const { stdout, stderr } = await run([...args, ...more, ...flags], options);
    expect(requests.length).toBeGreaterThanOrEqual(5);
    expect(stdout).toContain('"runId"');
    const written = readAll(folder.path);
    expect(folder.names()).toEqual(expect.arrayContaining(['run.html', 'run.json']));
    expect(written).toContain('[redacted]');
    expect(findForms(stdout + stderr + written)).toEqual([]);
  });

  it('is not in what is said of a setting that holds it by mistake', async () => {
    const folder = openList(2);
    const common = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:1'];
    const env = { BRANDFILL_API_KEY: KEY };
    for (const flags of [
      ['--auth', KEY],
      ['--auth', 'bearer', '--store', `/dev/null/${KEY}`],
    ]) {
      const { code, stderr } = await runHere([...common, ...flags], { cwd: folder.path, env });
      expect(code).toBe(2);
      expect(findForms(stderr)).toEqual([]);
    }
  });
});

it('the log of a worker is JSON on each line, without the password of Redis', async () => {
  const api = await openApi();
  const redis = await useRedis();
  await redis.client.config('SET', 'requirepass', 'r3dis-pass');
  const url = redis.url.replace('redis://', 'redis://:r3dis-pass@');
  const worker = await start(['worker', '--base-url', api.url, '--queue', url, ...JSON_FORMAT], {
    cwd: openFolder().path,
  });
  await worker.shows('Waiting for lookups');
  const { code, stderr } = await worker.stop();
  expect(code).toBe(0);
  const lines = objectsOf(stderr);
  expect(lines.map(({ command }) => command)).toEqual(lines.map(() => 'worker'));
  expect(lines.at(-1)).toMatchObject({ level: 'info', msg: expect.stringContaining('Stopped') });
  expect(stderr).not.toContain('r3dis-pass');
});
