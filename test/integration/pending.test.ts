import { describe, expect, it } from 'vitest';
import type { SandboxReply } from '../../src/sandbox/options.ts';
import { createGate } from '../support/gate.ts';
import { openApi } from './support/api.ts';
import { enrichHere, startHere, summaryOf } from './support/command.ts';
import { cellsOf, column, openList, rowsOf } from './support/folder.ts';
import { openStage } from './support/queue-stage.ts';
import { inStore } from './support/stores.ts';

const ACCEPTED: SandboxReply = { status: 202, headers: { 'retry-after': '1' }, body: {} };
const NEVER: SandboxReply = { status: 202, headers: { 'retry-after': '3600' }, body: {} };

/** Answers 202 to the first calls about each domain that is slow, then 200. Notes who was asked. */
function readyAfter(calls: number, isSlow: (domain: string) => boolean) {
  const asked: string[] = [];
  return {
    asked,
    respond: (domain: string): SandboxReply => {
      asked.push(domain);
      const made = asked.filter((each) => each === domain).length;
      return isSlow(domain) && made <= calls ? ACCEPTED : { body: { name: domain } };
    },
  };
}

function isOdd(domain: string): boolean {
  return Number(/\d+/.exec(domain)?.[0]) % 2 === 1;
}

describe('a lookup that the API has accepted and has no answer ready for', () => {
  it('leaves its caller to the others, and is asked again when the API says', async () => {
    const folder = openList(40);
    const { asked, respond } = readyAfter(2, isOdd);
    const api = await openApi({ respond });
    const ended = await enrichHere(folder, api.url, '--concurrency', '1', '--json');

    expect(ended.code, ended.stderr).toBe(0);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 40 }, calls: 80, retries: 0 });
    expect(new Set(asked.slice(0, 40)).size).toBe(40);
    const rows = rowsOf(folder.read('list.enriched.csv'));
    expect(new Set(column(rows, 'brand_status'))).toEqual(new Set(['found']));
  });

  it('is pending at the end, with exit code 3, and asked by the next run at once', async () => {
    const folder = openList(4);
    let isReady = false;
    const api = await openApi({
      respond: (domain) => (isOdd(domain) && !isReady ? NEVER : { body: { name: domain } }),
    });
    const ended = await enrichHere(folder, api.url, '--report', 'report.json');
    expect(ended.code, ended.stderr).toBe(3);
    expect(ended.stderr).toContain('2 found, 2 pending');
    const failures = cellsOf(folder.read('list.failures.csv')).slice(1);
    expect(failures.map((cells) => cells.join())).toEqual([
      'company-1.com,2,company-1.com,pending,http_202,,202,1',
      'company-3.com,4,company-3.com,pending,http_202,,202,1',
    ]);
    const counts = { rows: 4, statuses: { found: 2, pending: 2 }, lookups: 4 };
    expect(JSON.parse(folder.read('report.json'))).toMatchObject(counts);
    const stats = await inStore(folder, 'stats', '--json');
    expect(stats.stdout).toContain('"pending":2');

    isReady = true;
    const again = await enrichHere(folder, api.url, '--json');
    expect(again.code, again.stderr).toBe(0);
    expect(summaryOf(again)).toMatchObject({ statuses: { found: 4 }, calls: 2 });
  });

  it('ends as pending when the run is interrupted, without a wait', async () => {
    const folder = openList(6);
    const reached = createGate();
    const api = await openApi({
      respond: (domain) => {
        if (api.stats().calls === 6) reached.open();
        return isOdd(domain) ? { status: 202, headers: { 'retry-after': '300' } } : undefined;
      },
    });
    const args = ['enrich', 'list.csv', '--base-url', api.url, '--json'];
    const running = startHere(args, { cwd: folder.path });
    await reached.opened;
    await running.shows(
      '3 domains pending, Only pending domains are left: all are asked again within ',
    );
    const ended = await running.stop('SIGINT');
    expect(ended.code).toBe(130);
    expect(summaryOf(ended)).toMatchObject({ statuses: { found: 3, pending: 3 }, calls: 6 });
  });
});

it('over Redis, a pending lookup holds neither the caller of a worker nor the window of its run', async () => {
  const { asked, respond } = readyAfter(2, isOdd);
  const stage = await openStage(40, { respond });
  await stage.worker('--concurrency', '1');
  const ended = await stage.enrich('--workers', '0', '--json').ended;
  expect(ended.code, ended.stderr).toBe(0);
  expect(summaryOf(ended)).toMatchObject({ statuses: { found: 40 }, calls: 80, retries: 0 });
  expect(asked).toHaveLength(80);
});
