import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAuth } from '../../src/brand/credential.ts';
import { playProfile } from '../../src/profile/play.ts';
import type { SampleFile } from '../../src/profile/profile-schema.ts';
import { type Profile, readProfile, shippedProfiles } from '../../src/profile/read-profile.ts';
import { bodyText } from '../../src/profile/samples.ts';
import type { SandboxAuth } from '../../src/sandbox/auth.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { useRedis } from '../support/redis.ts';
import { openApi } from './support/api.ts';
import { type Running, run, start, summaryOf } from './support/command.ts';
import { type Enriched, enrichIn } from './support/enrich.ts';
import { openList } from './support/lists.ts';
import { column, listOf, rowsOf } from './support/tables.ts';

const KEY = 'a-key-that-is-not-real';

/** The sandbox as the API of a profile, which takes only calls with its credential. */
async function openPlayed(profile: Profile, options: SandboxOptions = {}): Promise<Sandbox> {
  const scheme = parseAuth(profile.content.request.auth ?? 'none');
  const auth: SandboxAuth['scheme'] =
    scheme.kind === 'header'
      ? { header: scheme.name }
      : scheme.kind === 'query'
        ? { query: scheme.name }
        : scheme.kind === 'basic'
          ? 'basic'
          : 'bearer';
  return await openApi({ auth: { scheme: auth, key: KEY }, ...options, api: playProfile(profile) });
}

/** What a row says at last whose domain gets an answer of this meaning first. */
const STATUSES: Readonly<Record<string, string>> = {
  found: 'found',
  not_found: 'not_found',
  rejected: 'rejected',
  pending: 'pending',
  failed: 'failed',
  throttled: 'found',
  retry: 'found',
};

/** Meanings that end a run. */
const STOPS: Readonly<Record<string, string>> = { quota: 'quota', unauthorized: 'unauthorized' };

const statusesOf = ({ out }: Enriched): readonly unknown[] =>
  column(rowsOf(readFileSync(out, 'utf8')), 'brand_status');

describe.each(shippedProfiles())('the profile %s against the sandbox that plays it', (name) => {
  const profile = readProfile(name);
  const samples = (profile.content.samples ?? []).map(({ means }, at) => ({
    means,
    domain: `sample-${at + 1}.example.com`,
  }));
  const going = samples.filter(({ means }) => STOPS[means] === undefined);

  it('gives each domain of a list the verdict that its answer means', async () => {
    const api = await openPlayed(profile);
    const folder = openList(listOf(going.map(({ domain }) => domain)));
    const options = {
      input: 'list.csv',
      api: name,
      baseUrl: api.url,
      apiKey: KEY,
      maxPending: 0,
    };
    const first = await enrichIn(folder, options);
    expect(statusesOf(first)).toEqual(going.map(({ means }) => STATUSES[means]));
    expect(first.summary.stopped).toBeUndefined();
    const again = await enrichIn(folder, options);
    const pending = going.filter(({ means }) => means === 'pending').length;
    expect(again.summary.calls).toBe(pending);
    expect(statusesOf(again)).toEqual(
      going.map(({ means }) => (means === 'pending' ? 'found' : STATUSES[means])),
    );
    expect(api.stats().calls).toBe(first.summary.calls + again.summary.calls);
    if (profile.content.billing === undefined) return;
    const billed = [first, again].map(({ summary }) => summary.bill?.units ?? Number.NaN);
    expect(billed[0]).toBeGreaterThan(0);
    expect(api.stats().charged).toBe((billed[0] ?? 0) + (billed[1] ?? 0));
  });

  it.each(samples.filter(({ means }) => STOPS[means] !== undefined))(
    'stops at $means ($domain) after one call',
    async ({ means, domain }) => {
      const api = await openPlayed(profile);
      const folder = openList(listOf([domain]));
      const options = { input: 'list.csv', api: name, baseUrl: api.url, apiKey: KEY };
      const { summary } = await enrichIn(folder, options);
      expect(summary).toMatchObject({ calls: 1, stopped: { reason: STOPS[means] } });
      expect(summary.statuses).toMatchObject({ skipped: 1 });
    },
  );

  it('is refused without the right credential, in the words of the API', async () => {
    const api = await openPlayed(profile);
    const folder = openList(listOf(['example.com']));
    const options = { input: 'list.csv', api: name, baseUrl: api.url, apiKey: 'a-wrong-key' };
    const { summary } = await enrichIn(folder, options);
    expect(summary).toMatchObject({ calls: 1, stopped: { reason: 'unauthorized' } });
  });
});

it('brandfill sandbox --api plays a profile, its quota in the words of the API', async () => {
  const folder = openList(listOf(Array.from({ length: 30 }, (_, at) => `company-${at}.com`)));
  const args = ['sandbox', '--api', 'hunter', '--port', '0', '--quota', '20'];
  const sandbox = await start(args, { cwd: folder.path });
  const [, url = ''] = /on (http:\S+)/.exec(await firstLine(sandbox.process.stdout)) ?? [];
  const enrich = ['enrich', 'list.csv', '--api', 'hunter', '--base-url', url, '--json'];
  const env = { HUNTER_API_KEY: KEY };
  const ended = await run(enrich, { cwd: folder.path, env });
  expect(ended.code, ended.stderr).toBe(4);
  expect(summaryOf(ended)).toMatchObject({ stopped: { reason: 'quota' } });
  const { byStatus, charged } = (await (await fetch(`${url}/stats`)).json()) as {
    byStatus: Record<string, number>;
    charged: number;
  };
  expect([byStatus['200'], charged, summaryOf(ended).bill]).toEqual([
    20,
    20,
    { units: 20, unit: 'credits' },
  ]);
  expect(byStatus['429']).toBeGreaterThan(0);
});

describe('over Redis', () => {
  it('runs of several profiles keep their verdicts and bills exact, though each loses a worker', async () => {
    const redis = await useRedis();
    const folder = openList(listOf(COMPANIES));
    const place = { cwd: folder.path, env: { BRANDFILL_QUEUE: redis.url, ...KEYS } };
    const opened = [];
    for (const [name, maxPending] of SEVERAL) {
      const played = await openPlayed(readProfile(name), { latencyMs: 20 });
      const api = ['--api', name, '--base-url', played.url];
      const flags = ['--concurrency', '2', '--rate', '100/s', '--lost-after', '3s'];
      const startWorker = async (): Promise<Running> => {
        const worker = await start(['worker', ...api, ...flags], place);
        await worker.shows('Waiting for lookups');
        return worker;
      };
      const enrich = ['enrich', 'list.csv', ...api, '--workers', '0', '--chunk', '10', '--json'];
      const files = ['--out', `${name}.csv`, '--failures', `${name}.failures.csv`];
      const pace = ['--rate', '100/s', '--lost-after', '3s', '--max-pending', maxPending];
      const killed = await startWorker();
      const running = await start([...enrich, ...files, ...pace], place);
      opened.push({ name, played, killed, running, startWorker });
    }
    for (const { played, killed, startWorker } of opened) {
      await expect.poll(() => played.stats().calls).toBeGreaterThan(20);
      killed.process.kill('SIGKILL');
      await startWorker();
    }
    for (const { name, played, running } of opened) {
      const ended = await running.ended;
      const { bill } = summaryOf(ended);
      const expected = expectedOf(name);
      const rows = rowsOf(folder.read(`${name}.csv`));
      expect(column(rows, 'brand_status'), name).toEqual(expected.statuses);
      // An answer that says "later" and is billed may be one that nobody saw.
      const units = bill?.units ?? Number.NaN;
      expect(units, name).toBeGreaterThanOrEqual(expected.units);
      expect(units, name).toBeLessThanOrEqual(expected.units + expected.later);
      // Nobody saw the answers to the calls that a killed worker had under way.
      const unseen = played.stats().charged - units;
      expect(unseen).toBeGreaterThanOrEqual(0);
      expect(unseen).toBeLessThanOrEqual(2 * 2);
    }
  });
});

/** Profiles with words of their own for "unknown" and for "later", and how long to ask again at them. */
const SEVERAL = [
  ['hunter', '0'],
  ['logo-dev', '10min'],
] as const;
const COMPANIES = Array.from({ length: 80 }, (_, at) => `company-${at}.com`);
const KEYS = Object.fromEntries(
  SEVERAL.map(([name]) => [readProfile(name).content.request.apiKeyEnv ?? '', KEY]),
);

interface Expected {
  readonly statuses: readonly string[];
  /** What the last answers cost. */
  readonly units: number;
  /** What those before them cost that said "later". */
  readonly later: number;
}

/** What comes of the companies, and what it costs, as the profile's own samples say. */
function expectedOf(name: string): Expected {
  const profile = readProfile(name);
  const { reply } = playProfile(profile);
  const { samples = [] } = profile.content;
  const last = COMPANIES.map((domain) => {
    const { status, body, charge = 0 } = reply(domain, 2);
    const before = reply(domain, 1);
    const later = before.body === body ? 0 : (before.charge ?? 0);
    // A sample is about example.com.
    const name = `C${domain.slice(1, -'.com'.length)}`;
    const general = body.replaceAll(domain, 'example.com').replaceAll(name, 'Example');
    const isSame = (sample: SampleFile): boolean =>
      sample.status === status && bodyText(sample.body) === general;
    return { means: samples.find(isSame)?.means ?? '', charge, later };
  });
  return {
    statuses: last.map(({ means }) => means),
    units: last.reduce((sum, { charge }) => sum + charge, 0),
    later: last.reduce((sum, { later }) => sum + later, 0),
  };
}

async function firstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  for await (const text of stream ?? []) return String(text);
  return '';
}
