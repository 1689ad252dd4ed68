import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { type Running, start } from '../integration/support/command.ts';
import { domains, type Folder, listOf, openFolder } from '../integration/support/folder.ts';
import { row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { useDatabase } from '../support/redis.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { openDashboardStage, openPage, type WatchedPage } from './support/stage.ts';

const chromium = findChromium();

/** Each page is looked at in all of them: a phone, a tablet, a desktop, by day and by night. */
const LOOKS = [
  { colorScheme: 'dark', viewport: { width: 390, height: 800 } },
  { colorScheme: 'light', viewport: { width: 780, height: 800 } },
  { colorScheme: 'light', viewport: { width: 1_280, height: 800 } },
  { colorScheme: 'dark', viewport: { width: 1_280, height: 800 } },
] as const;

const STEPS = [
  ['Who knows your companies?', 'Rehearse'],
  ['Your list', 'Try our sample workbook'],
  ['crm-export.xlsx', 'Go on to the columns'],
  ['What would you like to know?', 'Ask about three companies'],
  ['What would you like to know?', 'Go on to the plan'],
  ['Ready to start?', 'Start'],
] as const;

async function comesTo(page: Page, title: string | RegExp): Promise<void> {
  await page.getByRole('heading', { name: title, exact: true }).waitFor();
}

const press = async (page: Page, name: string): Promise<void> =>
  await page.getByRole('button', { name, exact: true }).click();

/** Goes to a button by the Tab key alone, and presses it. */
async function pressByKeyboard(page: Page, name: string): Promise<void> {
  const button = page.getByRole('button', { name, exact: true });
  await button.waitFor();
  for (let tabs = 0; tabs < 100; tabs += 1) {
    await page.keyboard.press('Tab');
    if (await button.evaluate((element) => element.matches(':focus'))) {
      await page.keyboard.press('Enter');
      return;
    }
  }
  throw new Error(`no way to '${name}' by keyboard`);
}

/**
 * What axe finds, and whether something is beyond the edge, by day and by night, wide and narrow.
 */
async function expectSound(page: Page): Promise<void> {
  for (const { colorScheme, viewport } of LOOKS) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize(viewport);
    expect(await findFaults(page), colorScheme).toEqual([]);
    expect(await overflowOf(page), colorScheme).toBe(0);
  }
}

interface AppStage extends WatchedPage {
  readonly running: Running;
  readonly folder: Folder;
}

describe.skipIf(chromium === undefined)('in a browser', () => {
  const browser = useChromium(chromium);

  async function openApp(folder = openFolder()): Promise<AppStage> {
    const args = ['app', '--dir', folder.at('home'), '--listen', '0', '--no-open'];
    const running = await start(args, { cwd: folder.path });
    const [address = ''] = /http:\S+?enter\S+/.exec(await running.shows('Ctrl-C ends it.')) ?? [];
    const watched = await openPage(browser());
    await watched.page.goto(address);
    return { ...watched, running, folder };
  }

  /** Gives a list to an app that asks this API. */
  async function giveList(page: Page, url: string, name: string, bytes: Buffer): Promise<void> {
    await page.getByLabel('What to ask').selectOption({ label: 'Another API, by its address' });
    await page.getByLabel('Address of the API').fill(url);
    await page.getByLabel('How it wants the key', { exact: true }).selectOption('none');
    await press(page, 'Connect');
    await comesTo(page, 'Your list');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name, mimeType: 'text/plain', buffer: bytes });
  }

  it.each([
    ['the mouse', press],
    ['keyboard alone', pressByKeyboard],
  ] as const)('the app is gone through by %s', async (_, pressIt) => {
    const { page, complaints, hosts } = await openApp();
    for (const [title, button] of STEPS) {
      await comesTo(page, title);
      await page.getByRole('button', { name: button, exact: true }).waitFor();
      await expectSound(page);
      await pressIt(page, button);
    }
    await comesTo(page, /^Done: 14 rows in .*, 10 found, /);
    await page.getByText('The first 14 rows of the result').waitFor();
    await expectSound(page);
    const link = page.getByRole('link', { name: 'Download the result' });
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toBe('crm-export.enriched.xlsx');
    expect([...hosts]).toEqual(['127.0.0.1']);
    expect(complaints).toEqual([]);
  });

  it('a run is the same in two tabs and after a reload, and goes on when the app was killed', async () => {
    const api = await openApi({ latencyMs: 250 });
    const { page, running, folder } = await openApp();
    await giveList(page, api.url, 'list.csv', Buffer.from(listOf(domains(400))));
    await press(page, 'Go on to the columns');
    await press(page, 'Skip this: add the usual');
    await press(page, 'Start');
    await comesTo(page, 'Looking up');
    const other = await page.context().newPage();
    await other.goto(page.url());
    await press(other, 'Pause');
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    await page.reload();
    await press(page, 'Go on');
    await other.getByRole('button', { name: 'Pause' }).waitFor();
    running.process.kill('SIGKILL');
    await page.getByText('Brandfill does not answer').waitFor();
    const again = await openApp(folder);
    await comesTo(again.page, 'Broken off');
    await press(again.page, 'Go on');
    await comesTo(again.page, /^Done: 400 rows in .*, 400 found\.$/);
    await again.page.getByText('The first 100 rows of the result').waitFor();
    expect(api.stats().domains.mostCalls).toBeLessThanOrEqual(2); // what was under way, at most
  });

  it('a workbook of 20 MB is taken, and a list without a domain is refused with what to do', async () => {
    const api = await openApi();
    const { page } = await openApp();
    const rows = Array.from({ length: 200_000 }, (_, at) =>
      row(at + 2, randomBytes(90).toString('base64'), `company-${at}.com`),
    );
    const sheet = { name: 'All', rows: [row(1, 'Note', 'Website'), ...rows].join('') };
    const workbook = await workbookOf({ sheets: [sheet] });
    expect(workbook.length).toBeGreaterThan(20_000_000);
    await giveList(page, api.url, 'large.xlsx', workbook);
    await comesTo(page, 'large.xlsx');
    await page.getByRole('button', { name: 'Website', pressed: true }).waitFor();
    await press(page, 'Another list');
    await comesTo(page, 'Your list');
    const buffer = Buffer.from('name,note\nAcme,good\nBolt,bad\n');
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'none.csv', mimeType: 'text/csv', buffer });
    await page.getByText('No column was found').waitFor();
    expect(await page.getByRole('button', { name: 'Go on to the columns' }).isDisabled()).toBe(
      true,
    );
    await expectSound(page);
  });

  it('on a phone the column that was chosen is in sight, however wide the list', async () => {
    const api = await openApi();
    const { page } = await openApp();
    await page.setViewportSize(LOOKS[0].viewport);
    const others = Array.from({ length: 12 }, (_, at) => `note ${at}`).join();
    await giveList(
      page,
      api.url,
      'wide.csv',
      Buffer.from(`${others},Website\n${others},acme.com\n`),
    );
    const column = page.getByRole('button', { name: 'Website', pressed: true });
    const { x = 0, width = 0 } = (await column.boundingBox()) ?? {};
    expect([x >= 0, x + width <= LOOKS[0].viewport.width]).toEqual([true, true]);
  });

  it('companies can be asked about again when the API refused', async () => {
    const api = await openApi({ auth: { scheme: { kind: 'bearer' }, key: 'right' } });
    const { page } = await openApp();
    await giveList(page, api.url, 'list.csv', Buffer.from(listOf(domains(3))));
    await press(page, 'Go on to the columns');
    await page.getByText('That is three calls; they are not paid for again').waitFor();
    await press(page, 'Ask about three companies');
    await page.locator('.note').getByText('Calls were made without a credential').waitFor();
    await page.getByRole('button', { name: 'Ask about three companies' }).waitFor();
  });

  it('an address with a broken escape leads to the lists', async () => {
    const { page } = await openApp();
    await comesTo(page, 'Who knows your companies?');
    await page.goto(new URL('#/list/%E0%A4%A', page.url()).href);
    await comesTo(page, 'Your list');
  });

  it('the dashboard shows a run, pauses it, and keeps what it showed when the process is gone', async () => {
    const { url, running } = await openDashboardStage();
    const { page, complaints } = await openPage(browser());
    await page.goto(url);
    await comesTo(page, 'Runs');
    await press(page, 'Pause');
    await page.getByRole('button', { name: 'Go on' }).waitFor();
    await expectSound(page);
    expect(complaints).toEqual([]);
    running.process.kill('SIGKILL');
    await page.getByText('Brandfill does not answer').waitFor();
    await page.getByText('list.csv').first().waitFor();
  });

  it('the dashboard of a queue shows its runs, queues and workers', async () => {
    const redis = await useDatabase();
    await openDashboardStage({ flags: ['--queue', redis.url] });
    const args = ['dashboard', '--queue', redis.url, '--listen', '0'];
    const dashboard = await start(args, { cwd: openFolder().path });
    const [, url = ''] = / is on (http:\S+)\./.exec(await dashboard.shows(' is on http')) ?? [];
    const { page, complaints } = await openPage(browser());
    await page.goto(url);
    await comesTo(page, 'list.csv');
    await comesTo(page, 'Workers');
    await expectSound(page);
    await comesTo(page, 'Queues');
    await press(page, 'Stop list.csv');
    await press(page, 'Really stop list.csv');
    await page.getByText('Stopped on request', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('a report is whole in one file, and asks for nothing', async () => {
    const { running, folder } = await openDashboardStage({
      rows: 50,
      api: { latencyMs: 5, notFound: 0.3, seed: 5 },
      flags: ['--report', 'run.html'],
    });
    expect((await running.ended).code).toBe(0);
    const { page, hosts, complaints } = await openPage(browser());
    await page.goto(`file://${folder.at('run.html')}`);
    await comesTo(page, 'Brandfill report');
    await page.getByText('not found').first().waitFor();
    await expectSound(page);
    expect([...hosts]).toEqual(['']);
    expect(complaints).toEqual([]);
  });
});

/** What axe finds in a page; the page must have been opened with `bypassCSP`. */
async function findFaults(page: Page): Promise<readonly string[]> {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  await page.evaluate(await readFile(source, 'utf8'));
  const { violations } = await page.evaluate<AxeResults, RunOptions>(
    (options) =>
      (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run(
        options,
      ),
    { resultTypes: ['violations'] },
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}

/** How many pixels of a page are beyond its right edge. */
async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = (
      globalThis as unknown as { document: { documentElement: Widths } }
    ).document.documentElement;
    return scrollWidth - clientWidth;
  });
}

interface Widths {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}
