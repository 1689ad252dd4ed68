import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { openFolder } from '../integration/support/folder.ts';
import { domains, listOf } from '../integration/support/tables.ts';
import { comesTo, connectTo, drop, openAppStage } from './support/app-stage.ts';
import { findChromium, useChromium } from './support/chromium.ts';

const chromium = findChromium();
/** An input is answered at once, for a person, within this time. */
const AT_ONCE_MS = 100;

/** What is used of a browser's own clock of inputs. */
interface Browser {
  readonly PerformanceObserver: new (
    see: (list: { getEntries(): readonly Input[] }) => void,
  ) => { observe(options: object): void };
  answers?: number[];
}

interface Input {
  readonly startTime: number;
  readonly processingEnd: number;
}

/** Has the browser measure how long each input waits until the page has dealt with it. */
async function measureInputs(page: Page): Promise<void> {
  await page.evaluate(() => {
    const browser = globalThis as unknown as Browser;
    const answers: number[] = [];
    browser.answers = answers;
    new browser.PerformanceObserver((list) => {
      for (const { startTime, processingEnd } of list.getEntries()) {
        answers.push(processingEnd - startTime);
      }
    }).observe({ type: 'event', durationThreshold: 16, buffered: true });
  });
}

/** Presses a key that changes nothing, again and again, until something is there. */
async function typeUntil(page: Page, done: Promise<unknown>): Promise<number> {
  let isDone = false;
  const end = done.finally(() => {
    isDone = true;
  });
  let keys = 0;
  while (!isDone) {
    await page.keyboard.press('Shift', { delay: 20 });
    keys += 1;
  }
  await end;
  return keys;
}

describe.skipIf(chromium === undefined)('the app in a browser, with much to do', () => {
  const browser = useChromium(chromium);

  it('takes a CSV of 200,000 rows, and answers each input at once meanwhile', async () => {
    const api = await openApi({ countPerDomain: false });
    const folder = openFolder();
    const companies = domains(5_000);
    const rows = Array.from({ length: 200_000 }, (_, at) => companies[at % 5_000] ?? '');
    folder.write('large.csv', listOf(rows));
    const { page, press, complaints } = await openAppStage(browser(), { folder });
    await connectTo(page, api.url);
    await press('Go on to your list');
    await measureInputs(page);
    await page.locator('input[type=file]').setInputFiles(folder.at('large.csv'));
    let keys = await typeUntil(page, comesTo(page, 'large.csv'));
    await press('Go on to the columns');
    await press('Skip this');
    keys += await typeUntil(page, page.getByText('It will cost').waitFor());
    await press('Start');
    keys += await typeUntil(
      page,
      page.getByRole('heading', { level: 2, name: 'It is done' }).waitFor({ timeout: 100_000 }),
    );
    await press('Show the result');
    keys += await typeUntil(page, page.getByRole('cell', { name: 'Found' }).first().waitFor());
    await page.getByText('200,000', { exact: false }).first().waitFor();
    const slow = await page.evaluate(() => (globalThis as unknown as Browser).answers ?? []);
    expect(keys).toBeGreaterThan(50);
    // A machine that is busy with other things answers one or the other late.
    const late = slow.filter((ms) => ms > AT_ONCE_MS);
    expect(late.length / (2 * keys), `late, in ms: ${late.join(', ')}`).toBeLessThan(0.02);
    expect(api.stats().calls).toBe(5_000);
    expect(complaints).toEqual([]);
  });

  it('is killed in the middle, started again, and goes on where it was', async () => {
    const api = await openApi({ latencyMs: 50 });
    const first = await openAppStage(browser());
    await connectTo(first.page, api.url);
    await first.press('Go on to your list');
    await drop(first.page, 'list.csv', Buffer.from(listOf(domains(2_000))));
    await first.press('Go on to the columns');
    await first.press('Skip this');
    await first.press('Start');
    await comesTo(first.page, 'It is running');
    await expect.poll(() => api.stats().calls).toBeGreaterThan(500);
    first.running.process.kill('SIGKILL');
    await first.running.ended;
    await first.page.close();
    const second = await openAppStage(browser(), { folder: first.folder });
    await comesTo(second.page, 'It was interrupted');
    await second.press(/^Go on$/);
    await comesTo(second.page, 'It is done');
    // Calls that were under way, and answers of the moment before the last commit.
    expect(api.stats().domains.repeated).toBeLessThan(100);
    await second.press('Show the result');
    await second.page.getByRole('cell', { name: 'Found' }).first().waitFor();
  });
});
