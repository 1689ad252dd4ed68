import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import type { AppState } from '../../src/web/app/contract.ts';
import { holdCalls, openApi, openServer } from '../integration/support/api.ts';
import { domains, listOf } from '../integration/support/tables.ts';
import { comesTo, connectTo, drop, openAppStage } from './support/app-stage.ts';
import { findChromium, useChromium } from './support/chromium.ts';

const chromium = findChromium();

async function stateOf(page: Page): Promise<AppState> {
  return (await page.evaluate(async () => await (await fetch('api/state')).json())) as AppState;
}

describe.skipIf(chromium === undefined)('the app in a browser, whatever happens', () => {
  const browser = useChromium(chromium);

  it('shows the run in which it was killed, started again, and goes on where it was', async () => {
    const api = await openApi({ latencyMs: 50 });
    // So that it is running for as long as it takes to see it.
    const held = await holdCalls(api, () => api.stats().calls >= 300);
    const first = await openAppStage(browser());
    await connectTo(first.page, held.url);
    await first.press('Go on to your list');
    await drop(first.page, 'list.csv', Buffer.from(listOf(domains(2_000))));
    await first.press('Go on to the columns');
    await first.press('Skip this');
    await first.press('Start');
    await comesTo(first.page, 'It is running');
    await expect.poll(() => api.stats().calls).toBeGreaterThanOrEqual(300);
    first.running.process.kill('SIGKILL');
    await first.running.ended;
    await first.page.close();
    held.release();
    const { page, press } = await openAppStage(browser(), { folder: first.folder });
    await comesTo(page, 'It was interrupted');
    await press(/^Go on$/);
    await comesTo(page, 'It is done');
    // Calls that were under way, and answers of the moment before the last commit.
    expect(api.stats().domains.repeated).toBeLessThan(100);
    await press('Show the result');
    await page.getByRole('cell', { name: 'Found' }).first().waitFor();
    await page.getByText('1–50 of 2,000').waitFor();
  });

  it('takes no orders from another site, even one on the same machine', async () => {
    const api = await openApi();
    const { page, press, url } = await openAppStage(browser());
    await connectTo(page, api.url);
    await press('Go on to your list');
    await drop(page, 'list.csv', Buffer.from(listOf(domains(5))));
    await comesTo(page, 'list.csv');
    const { lists } = await stateOf(page);
    const target = `${url}api/lists/${lists[0]?.id}/runs`;
    const site = await openServer((_, response) => {
      response.setHeader('content-type', 'text/html');
      response.end(`<form method="post" action="${target}"><button>Win</button></form>`);
    });
    const other = await page.context().newPage(); // with the cookie: ports make no other site of it
    await other.goto(site.url);
    const tried = await other.evaluate(async (to) => {
      const send = async (options: RequestInit): Promise<string> =>
        await fetch(to, { method: 'POST', credentials: 'include', ...options }).then(
          ({ status, type }) => `${type} ${status}`,
          () => 'failed',
        );
      const json = { 'content-type': 'application/json' };
      return [
        await send({ body: '{}', headers: json }),
        await send({ body: '{}', mode: 'no-cors' }),
      ];
    }, target);
    expect(tried).toEqual(['failed', 'failed']);
    const answer = other.waitForResponse(target);
    await other.getByRole('button', { name: 'Win' }).click();
    expect((await answer).status()).toBe(403);
    expect((await stateOf(page)).runs).toEqual([]);
    expect(api.stats().calls).toBe(0);
  });
});
