import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import type { Sandbox } from '../../src/sandbox/server.ts';
import { openApi } from '../integration/support/api.ts';
import { enrichHere, type Running, startEnrich } from '../integration/support/command.ts';
import { type Folder, openList } from '../integration/support/folder.ts';
import { openStore } from '../store/outcomes.ts';
import { seededRandom } from '../support/random.ts';
import { makeList, respond } from './support/chaos-list.ts';
import { MOST_PROBES } from './support/fleet.ts';

const random = seededRandom('kill.test.ts');

const CONCURRENCY = 16;
const KILLS = 3;
const REPEATS = 12;
const { text: LIST, domains: DOMAINS, expected } = makeList(1_250, 900, random);
const FLAGS = ['--concurrency', String(CONCURRENCY)];

describe('kill -9 at any moment', () => {
  it(`${KILLS} times, then the same command: nothing is lost, nothing stored is asked again`, async () => {
    const folder = openList(LIST);
    const api = await openApi({ latencyMs: { fromMs: 10, toMs: 80 }, respond });
    for (let kill = 0; kill < KILLS; kill += 1) {
      const before = await callsOfStored(folder, api);
      const callsBefore = api.stats().calls;
      const running = await startEnrich(folder, api.url, ...FLAGS);
      await killAt(running, api, callsBefore + random.between(0, 100));
      expectOnlyProbes(before, api);
      expect(folder.names()).not.toContain('list.enriched.csv');
    }
    const before = await callsOfStored(folder, api);
    const ended = await enrichHere(folder, api.url, ...FLAGS);
    expect(ended.code).toBe(0);
    expectOnlyProbes(before, api);

    expect(folder.read('list.enriched.csv')).toBe(expected.out);
    expect(withoutAttempts(folder.read('list.failures.csv'))).toBe(
      withoutAttempts(expected.failures),
    );
    expect(folder.names()).toEqual(['list.csv', 'list.enriched.csv', 'list.failures.csv']);
    const left = readdirSync(folder.at('.brandfill/brandfill-store'), {
      recursive: true,
      encoding: 'utf8',
    });
    expect(left.sort()).toEqual(['BRANDFILL.TAG', 'closed', 'data.mdb', 'lock.mdb']);

    // A call is made twice only where a kill met it under way, or its outcome just before the
    // commit, and for a few domains of each run, to see whom a refusal is about.
    const lost = DOMAINS.map((domain) => Math.max(0, api.callsOf(domain).calls - 1)).reduce(
      (sum, calls) => sum + calls,
      0,
    );
    console.log(`kill.test.ts: ${lost} calls lost in ${KILLS} kills, ${CONCURRENCY} at once`);
    expect(lost).toBeLessThanOrEqual(2 * KILLS * CONCURRENCY + (KILLS + 1) * REPEATS);
  });
});

/** The first domains that are refused are asked again, to see whom that is about. */
function withoutAttempts(failures: string): string {
  return failures.replaceAll(/,\d+$/gm, '');
}

/** Kills a run when so many calls were made. */
async function killAt(running: Running, api: Sandbox, calls: number): Promise<void> {
  const gone = running.ended.then(() => true);
  const reached = async (): Promise<boolean> => {
    while (api.stats().calls < calls) {
      if (running.process.exitCode !== null) return false;
      await delay(1);
    }
    return true;
  };
  expect(await Promise.race([reached(), gone])).toBe(true);
  expect((await running.stop('SIGKILL')).signal).toBe('SIGKILL');
}

/**
 * Of what the store had, none was asked again, but for a few that were found: each of these tells
 * whether all is well, where refusals come in a row.
 */
function expectOnlyProbes(before: ReadonlyMap<string, number>, api: Sandbox): void {
  const again = [...before].filter(([domain, calls]) => api.callsOf(domain).calls > calls);
  expect(again.filter(([domain]) => respond(domain).status !== undefined)).toEqual([]);
  expect(again.length).toBeLessThanOrEqual(MOST_PROBES);
}

/** Calls of each domain whose outcome the store has. */
async function callsOfStored(folder: Folder, api: Sandbox): Promise<ReadonlyMap<string, number>> {
  if (!folder.hasStore()) return new Map();
  const store = await openStore(folder.at('.brandfill'), createEndpoint({ baseUrl: api.url }).id);
  const stored = DOMAINS.filter((domain) => store.findHead(domain) !== undefined);
  await store.close();
  return new Map(stored.map((domain) => [domain, api.callsOf(domain).calls]));
}
