import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parseAuth } from '../../src/brand/credential.ts';
import { compileExpression } from '../../src/collector/fields/expression.ts';
import { STANDARD_NAMES } from '../../src/collector/fields/standard.ts';
import { playProfile } from '../../src/profile/play.ts';
import { type Profile, readProfile, shippedProfiles } from '../../src/profile/read-profile.ts';
import type { SandboxAuth } from '../../src/sandbox/auth.ts';
import type { SandboxOptions } from '../../src/sandbox/options.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { openApi } from './support/api.ts';
import { runHere, start, summaryOf } from './support/command.ts';
import { type Enriched, enrichIn } from './support/enrich.ts';
import { column, listOf, openList, rowsOf } from './support/folder.ts';

const KEY = 'a-key-that-is-not-real';

/** The sandbox as the API of a profile, which takes only calls with its credential. */
async function openPlayed(profile: Profile, options: SandboxOptions = {}): Promise<Sandbox> {
  const scheme = parseAuth(profile.content.request.auth ?? 'bearer') as SandboxAuth['scheme'];
  return await openApi({ auth: { scheme, key: KEY }, ...options, api: playProfile(profile) });
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

const statusesOf = ({ out }: Enriched): readonly unknown[] =>
  column(rowsOf(readFileSync(out, 'utf8')), 'brand_status');

// What each of their samples means is judged whenever a profile is read; some go all the way.
describe.each(['brandfetch', 'people-data-labs', 'crustdata', 'prospeo'])(
  'the profile %s against the sandbox that plays it',
  (name) => {
    const profile = readProfile(name);
    const samples = (profile.content.samples ?? []).map(({ means }, at) => ({
      means,
      domain: `sample-${at + 1}.example.com`,
    }));
    // The others end a run.
    const going = samples.filter(({ means }) => STATUSES[means] !== undefined);

    it('gives each domain of a list the verdict that its answer means', async () => {
      const api = await openPlayed(profile);
      const folder = openList(listOf(going.map(({ domain }) => domain)));
      const place = { input: 'list.csv', api: name, baseUrl: api.url };
      const options = { ...place, apiKey: KEY, maxWait: '5s' };
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
  },
);

it.each(shippedProfiles())(
  'the columns of the profile %s are standard, and its samples have each of them',
  (name) => {
    const { content, api } = readProfile(name);
    const found = (content.samples ?? []).filter(({ means }) => means === 'found');
    const records = found.map(({ body }) => api.recordOf?.(body) ?? body);
    const columns = Object.entries(content.columns ?? {});
    expect(columns.map(([column]) => column)).toEqual(
      STANDARD_NAMES.filter((column) => content.columns?.[column] !== undefined),
    );
    expect(columns.length).toBeGreaterThan(4);
    for (const [column, expression] of columns) {
      const values = records.map((record) => compileExpression(expression)(record));
      const plain = values.find((value) => ['string', 'number'].includes(typeof value));
      expect(plain, column).toBeTruthy();
    }
  },
);

it('brandfill sandbox --api plays a profile, its quota in the words of the API', async () => {
  const folder = openList(30);
  const args = ['sandbox', '--api', 'hunter', '--port', '0', '--quota', '20'];
  const sandbox = await start(args, { cwd: folder.path });
  const [, url = ''] = /on (http:\S+)/.exec(await firstLine(sandbox.process.stdout)) ?? [];
  const enrich = ['enrich', 'list.csv', '--api', 'hunter', '--base-url', url, '--json'];
  const env = { HUNTER_API_KEY: KEY };
  const ended = await runHere(enrich, { cwd: folder.path, env });
  expect(ended.code, ended.stderr).toBe(4);
  expect(summaryOf(ended)).toMatchObject({ stopped: { reason: 'quota' } });
  const { byStatus, charged } = (await (await fetch(`${url}/stats`)).json()) as {
    byStatus: Record<string, number>;
    charged: number;
  };
  expect([byStatus['200'], charged]).toEqual([20, 20]);
  expect(summaryOf(ended).bill).toEqual({ units: 20, unit: 'credits' });
  expect(byStatus['429']).toBeGreaterThan(0);
});

async function firstLine(stream: NodeJS.ReadableStream | null): Promise<string> {
  for await (const text of stream ?? []) return String(text);
  return '';
}
