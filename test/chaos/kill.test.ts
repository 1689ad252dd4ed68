import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { openStore } from '../../src/store/store.ts';
import { openApi } from '../integration/support/api.ts';
import { type Running, run, start } from '../integration/support/command.ts';
import { type Folder, openFolder } from '../integration/support/folder.ts';
import { domains } from '../integration/support/tables.ts';
import { seededRandom } from '../support/random.ts';

const { next: random } = seededRandom('kill.test.ts');

const CONCURRENCY = 16;
const KILLS = 3;
const DOMAINS = domains(900);
/** 1,250 rows: each domain once, some again, some without one. */
const ROWS = Array.from({ length: 1_250 }, (_, at) => {
  const domain = at % 50 === 49 ? 'n/a' : DOMAINS[at < 900 ? at : Math.floor(random() * 900)];
  return `${at},"row ${at}, with ""quotes""",${domain}`;
});
const LIST = `id,note,domain\n${ROWS.join('\n')}\n`;

/** The same answer for a domain at each call, whatever happened before: found, 404, 400 or 500. */
function respond(domain: string) {
  const number = Number(/\d+/.exec(domain)?.[0]);
  if (number % 11 === 3) return { status: 404 };
  if (number % 17 === 5) return { status: 400, body: `No ${domain}` };
  if (number % 23 === 7) return { status: 500 };
  return { body: { name: `Company ${number}`, size: number, text: '=1+1' } };
}

const FLAGS = ['--concurrency', String(CONCURRENCY), '--retries', '0', '--progress', 'none'];

describe('kill -9 at any moment', () => {
  it(`${KILLS} times, then the same command: nothing is lost, nothing stored is asked again`, async () => {
    const expected = await undisturbed();
    const folder = openFolder();
    folder.write('list.csv', LIST);
    const api = await openApi({ latencyMs: { fromMs: 10, toMs: 80 }, respond });
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...FLAGS];

    let killed = 0;
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = await callsOfStored(folder, api);
      const callsBefore = api.stats().calls;
      const running = await start(args, { cwd: folder.path });
      await killAt(running, api, callsBefore);
      killed += 1;
      for (const [domain, calls] of before) expect(api.callsOf(domain).calls).toBe(calls);
      expect(folder.names()).not.toContain('list.enriched.csv');
    }
    expect(killed).toBe(KILLS);

    const before = await callsOfStored(folder, api);
    const ended = await run(args, { cwd: folder.path });
    expect(ended.code).toBe(3); // some answers are 500
    for (const [domain, calls] of before) expect(api.callsOf(domain).calls).toBe(calls);

    expect(folder.read('list.enriched.csv')).toBe(expected.out);
    expect(folder.read('list.failures.csv')).toBe(expected.failures);
    expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv', 'list.failures.csv']);
    const left = readdirSync(folder.at('.brandfill'), { recursive: true, encoding: 'utf8' });
    expect(left.sort()).toEqual(['closed', 'data.mdb', 'lock.mdb']);

    // A call is made twice only where a kill met it under way, or its outcome just before the commit.
    const lost = DOMAINS.filter((domain) => respond(domain).status !== 500)
      .map((domain) => Math.max(0, api.callsOf(domain).calls - 1))
      .reduce((sum, calls) => sum + calls, 0);
    console.log(`kill.test.ts: ${lost} calls lost in ${KILLS} kills, ${CONCURRENCY} at once`);
    expect(lost).toBeLessThanOrEqual(2 * KILLS * CONCURRENCY);
  });

  it('while the rows are written leaves the earlier output, and no part of a new one in the end', async () => {
    const folder = openFolder();
    folder.write('list.csv', LIST);
    const api = await openApi({ respond });
    const args = ['enrich', 'list.csv', '--base-url', api.url, ...FLAGS];
    expect((await run(args, { cwd: folder.path })).code).toBe(3);
    const out = folder.read('list.enriched.csv');
    const running = await start(args, { cwd: folder.path });
    await running.shows(' to make');
    running.process.kill('SIGKILL');
    await running.ended;
    expect(folder.read('list.enriched.csv')).toBe(out);
    expect((await run(args, { cwd: folder.path })).code).toBe(3);
    expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv', 'list.failures.csv']);
  });
});

interface Files {
  readonly out: string;
  readonly failures: string;
}

let files: Promise<Files> | undefined;

/** What a run gives that nobody disturbs, made once. */
function undisturbed(): Promise<Files> {
  files ??= runUndisturbed();
  return files;
}

async function runUndisturbed(): Promise<Files> {
  const folder = openFolder();
  folder.write('list.csv', LIST);
  const api = await openApi({ respond });
  const ended = await run(['enrich', 'list.csv', '--base-url', api.url, ...FLAGS], {
    cwd: folder.path,
  });
  expect(ended.code).toBe(3);
  expect(api.stats().calls).toBe(DOMAINS.length - missing());
  return { out: folder.read('list.enriched.csv'), failures: folder.read('list.failures.csv') };
}

/** Domains of which every row has none instead. */
function missing(): number {
  return DOMAINS.filter((domain) => !ROWS.some((row) => row.endsWith(`,${domain}`))).length;
}

/** Kills a run at a random moment: at once, or when so many more calls were made. */
async function killAt(running: Running, api: Sandbox, callsBefore: number): Promise<void> {
  const calls = Math.floor(random() * 100);
  const gone = running.ended.then(() => true);
  const reached = async (): Promise<boolean> => {
    while (api.stats().calls < callsBefore + calls) {
      if (running.process.exitCode !== null) return false;
      await delay(1);
    }
    return true;
  };
  expect(await Promise.race([reached(), gone])).toBe(true);
  running.process.kill('SIGKILL');
  expect((await running.ended).signal).toBe('SIGKILL');
}

/** Calls of each domain whose outcome the store has; failed ones are left out, they are asked again. */
async function callsOfStored(folder: Folder, api: Sandbox): Promise<ReadonlyMap<string, number>> {
  if (!folder.hasStore()) return new Map();
  const store = await openStore(folder.at('.brandfill'), createEndpoint({ baseUrl: api.url }).id);
  const stored = DOMAINS.filter((domain) => {
    const head = store.findHead(domain);
    return head !== undefined && head.status !== 'failed';
  });
  await store.close();
  return new Map(stored.map((domain) => [domain, api.callsOf(domain).calls]));
}
