import { setTimeout as delay } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { untilSilent } from '../integration/support/api.ts';
import { useReverseProxy } from '../support/reverse-proxy.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { findFaults, overflowOf } from './support/faults.ts';
import { openDashboardStage, openPage } from './support/stage.ts';

const chromium = findChromium();
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'">';
const TOKEN = 'correct-horse-battery';

/** A number of the page, by its name. */
async function numberOf(page: Page, name: string): Promise<number> {
  const pair = page.locator('dl > div', { has: page.locator('dt', { hasText: name }) });
  return Number((await pair.locator('dd').first().textContent())?.replaceAll(',', ''));
}

/** How many pixels of the chart are a pause and nothing else: that colour is see-through, and a grey. */
async function shadedPixels(page: Page): Promise<number> {
  return await page.locator('canvas').evaluate((chart: Canvas) => {
    // A copy, since a canvas that is read again and again gets slow, and says so.
    const copy = chart.cloneNode();
    const context = copy.getContext('2d', { willReadFrequently: true });
    context.drawImage(chart, 0, 0);
    const { data } = context.getImageData(0, 0, chart.width, chart.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = data.subarray(at, at + 4);
      const isGrey = Math.max(red, green, blue) - Math.min(red, green, blue) < 40;
      if (isGrey && alpha > 0.2 * 255 && alpha < 0.24 * 255) count += 1;
    }
    return count;
  });
}

/** What is used of one in the browser. */
interface Canvas {
  readonly width: number;
  readonly height: number;
  cloneNode(): Canvas;
  getContext(
    kind: '2d',
    options: { readonly willReadFrequently: boolean },
  ): {
    drawImage(from: Canvas, x: number, y: number): void;
    getImageData(...box: readonly number[]): { readonly data: Uint8ClampedArray };
  };
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await delay(50);
}

describe.skipIf(chromium === undefined)('the dashboard in a browser', () => {
  const browser = useChromium(chromium);

  it('shows numbers that move, and its buttons pause, resume and stop the calls', async () => {
    const { api, running, url } = await openDashboardStage();
    const { page, hosts, complaints } = await openPage(browser());
    await page.goto(url);
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    const found = await numberOf(page, 'Found');
    await until(async () => (await numberOf(page, 'Found')) > found + 20);
    expect(await shadedPixels(page)).toBeLessThan(100); // edges of letters may look like that
    // By keyboard, as somebody without a mouse would.
    await page.getByRole('button', { name: 'Pause' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Paused: no new call starts', { exact: true }).waitFor();
    await until(() => page.getByRole('button', { name: 'Resume' }).evaluate(isFocused));
    const calls = await untilSilent(api);
    expect(calls).toBeLessThan(3_000);
    await page.getByText('paused by somebody', { exact: true }).waitFor();
    await until(async () => (await shadedPixels(page)) > 1_000);
    await page.keyboard.press('Enter');
    await until(() => api.stats().calls > calls);
    expect([...hosts]).toEqual(['127.0.0.1']);
    expect(complaints).toEqual([]);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('status').getByText('Ended').waitFor();
    expect(await page.locator('.end').innerText()).toContain('3,000 rows in');
    expect((await running.ended).code).toBe(130);
  });

  it('keeps the place and the focus of somebody who reads a table while it changes', async () => {
    const { url } = await openDashboardStage();
    const { page } = await openPage(browser(), { viewport: { width: 240, height: 740 } });
    await page.goto(url);
    for (const name of ['Workers and what they hold', 'Some of the last answers']) {
      const region = page.getByRole('region', { name });
      await region.waitFor();
      await region.focus();
      const scrolled = await region.evaluate((element: { scrollLeft: number }) => {
        element.scrollLeft = 20;
        return element.scrollLeft;
      });
      expect(scrolled).toBe(20);
      const before = await region.textContent();
      await until(async () => (await region.textContent()) !== before);
      expect(await region.evaluate(isFocused)).toBe(true);
      expect(await region.evaluate((element) => element.scrollLeft)).toBe(20);
    }
  });

  it('shows what is hostile as text', async () => {
    const { url } = await openDashboardStage({
      list: `${HOSTILE.replaceAll('/', '')}.csv`,
      api: {
        respond: (domain) =>
          /[13579]\./.test(domain)
            ? { status: 422, body: { error: HOSTILE, message: HOSTILE } }
            : { body: { name: HOSTILE, website: domain } },
      },
    });
    const { page, hosts } = await openPage(browser());
    await page.goto(url);
    await page.getByRole('cell', { name: HOSTILE, exact: true }).first().waitFor();
    await page.getByRole('region', { name: 'Recent failures' }).waitFor();
    await page.getByRole('heading', { name: HOSTILE }).waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).toBe('Brandfill');
    expect([...hosts]).toEqual(['127.0.0.1']);
  });

  it('lets nobody in with a wrong token, and who has it', async () => {
    const { url } = await openDashboardStage({
      flags: ['--listen', '0.0.0.0:0'],
      env: { BRANDFILL_DASHBOARD_TOKEN: TOKEN },
    });
    const { page } = await openPage(browser());
    await page.goto(url);
    await page.getByLabel('Token').fill('a-wrong-token-of-good-length');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('That is not the token.').waitFor();
    expect(await page.content()).not.toContain('list.csv');
    expect(await page.evaluate(() => fetch('/events').then(({ status }) => status))).toBe(401);
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'list.csv' }).waitFor();
    expect(await page.evaluate('document.cookie')).toBe('');
  });

  it('connects again behind a proxy that said for a while that nobody is there', async () => {
    const { url } = await openDashboardStage();
    const { page } = await openPage(browser());
    let isAway = true;
    await page.route('**/events', (route) =>
      isAway ? route.fulfill({ status: 502 }) : route.continue(),
    );
    await page.goto(url);
    await page.getByText('Not connected; trying again').waitFor();
    isAway = false;
    await page.getByText('Live', { exact: true }).waitFor();
    await page.getByRole('heading', { name: 'list.csv' }).waitFor();
  });

  it('says so where the cookie is no longer good, as after a restart', async () => {
    const { url } = await openDashboardStage({ env: { BRANDFILL_DASHBOARD_TOKEN: TOKEN } });
    const { page } = await openPage(browser());
    await page.goto(url);
    await page.getByLabel('Token').fill(TOKEN);
    await page.route('**/events', (route) => route.fulfill({ status: 401 }));
    await page.keyboard.press('Enter');
    await page.getByText('Not connected; trying again').waitFor();
    await page.context().clearCookies();
    await page.getByText('Signed out: load this page anew').waitFor();
  });

  it('works below a path of a proxy that does not pass its name on', async () => {
    const { url } = await openDashboardStage({
      flags: ['--listen', '0.0.0.0:0'],
      env: { BRANDFILL_DASHBOARD_TOKEN: TOKEN },
    });
    const proxy = await useReverseProxy(url, '/tools/brandfill');
    const { page, complaints } = await openPage(browser());
    await page.goto(`${proxy.url}/tools/brandfill/`);
    await page.getByLabel('Token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'list.csv' }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused: no new call starts', { exact: true }).waitFor();
    expect(page.url()).toBe(`${proxy.url}/tools/brandfill/`);
    expect(complaints.filter((text) => !text.includes('401'))).toEqual([]); // before signing in
  });

  it('can be used by all, on a large screen and on a phone in the dark', async () => {
    const { url } = await openDashboardStage({ api: { errors: 0.1 }, flags: ['--retries', '0'] });
    for (const options of [
      { viewport: { width: 1_200, height: 900 } },
      { viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
    ] as const) {
      const { page } = await openPage(browser(), { ...options, bypassCSP: true });
      await page.goto(url);
      await page.getByRole('region', { name: 'Recent failures' }).waitFor();
      await page.getByRole('region', { name: 'Workers', exact: true }).waitFor();
      await page.locator('canvas').waitFor();
      expect(await findFaults(page)).toEqual([]);
      expect(await overflowOf(page)).toBe(0);
    }
  });
});

function isFocused(element: { readonly ownerDocument: { readonly activeElement: unknown } }) {
  return element.ownerDocument.activeElement === element;
}
