import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { start } from '../integration/support/command.ts';
import { openFolder } from '../integration/support/folder.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { findFaults, overflowOf } from './support/faults.ts';
import { openDashboardStage, openPage, type WatchedPage } from './support/stage.ts';

const chromium = findChromium();

const NARROW_AND_DARK = {
  bypassCSP: true, // for axe
  colorScheme: 'dark',
  viewport: { width: 390, height: 800 },
} as const;

const STEPS = [
  ['Who knows your companies?', 'Rehearse'],
  ['Your list', 'Try our sample workbook'],
  ['crm-export.xlsx', 'Go on to the columns'],
  ['What would you like to know?', 'Ask about three companies'],
  ['What would you like to know?', 'Go on to the plan'],
  ['Ready to start?', 'Start'],
  ['It is done', undefined],
] as const;

async function comesTo(page: Page, title: string): Promise<void> {
  await page.getByRole('heading', { name: title, exact: true }).waitFor();
}

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

describe.skipIf(chromium === undefined)('in a browser', () => {
  const browser = useChromium(chromium);

  async function openApp(options = {}): Promise<WatchedPage> {
    const folder = openFolder();
    const args = ['app', '--dir', folder.at('home'), '--port', '0', '--no-open'];
    const running = await start(args, { cwd: folder.path });
    const [address = ''] = /http:\S+?enter\S+/.exec(await running.shows('Ctrl-C ends it.')) ?? [];
    const watched = await openPage(browser(), options);
    await watched.page.goto(address);
    return watched;
  }

  it('the app is gone through by the mouse', async () => {
    const { page, complaints, hosts } = await openApp(NARROW_AND_DARK);
    for (const [title, button] of STEPS) {
      await comesTo(page, title);
      if (button) await page.getByRole('button', { name: button, exact: true }).click();
    }
    await page.getByText('The first 14 rows of the result').waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    const link = page.getByRole('link', { name: /crm-export\.enriched\.xlsx|Download/ }).first();
    const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
    expect(download.suggestedFilename()).toBe('crm-export.enriched.xlsx');
    await page.reload();
    await comesTo(page, 'It is done');
    expect([...hosts]).toEqual(['127.0.0.1']);
    expect(complaints).toEqual([]);
  });

  it('the app is gone through by keyboard alone', async () => {
    const { page, complaints } = await openApp();
    for (const [title, button] of STEPS) {
      await comesTo(page, title);
      if (button) await pressByKeyboard(page, button);
    }
    expect(complaints).toEqual([]);
  });

  it('the dashboard shows a run, pauses it, and keeps what it showed when the process is gone', async () => {
    const { url, running } = await openDashboardStage();
    const { page, complaints } = await openPage(browser(), NARROW_AND_DARK);
    await page.goto(url);
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByRole('button', { name: 'Resume' }).waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    expect(complaints).toEqual([]);
    running.process.kill('SIGKILL');
    await page.getByText('Brandfill does not answer').waitFor();
    await page.getByText('list.csv').first().waitFor();
  });

  it('a report is whole in one file, and asks for nothing', async () => {
    const { running, folder } = await openDashboardStage({
      rows: 50,
      api: { latencyMs: 5, notFound: 0.3, seed: 5 },
      flags: ['--report', 'run.html'],
    });
    expect((await running.ended).code).toBe(0);
    const { page, hosts, complaints } = await openPage(browser(), NARROW_AND_DARK);
    await page.goto(`file://${folder.at('run.html')}`);
    await page.getByRole('heading', { name: 'Brandfill report' }).waitFor();
    await page.getByText('not found').first().waitFor();
    expect(await findFaults(page)).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    expect([...hosts]).toEqual(['']);
    expect(complaints).toEqual([]);
  });
});
