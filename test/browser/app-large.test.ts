import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { domains } from '../integration/support/tables.ts';
import { comesTo, connectTo, openAppStage } from './support/app-stage.ts';
import { findChromium, useChromium } from './support/chromium.ts';

const chromium = findChromium();
const ROWS = 100_000;
/** What people take for at once. */
const AT_ONCE_MS = 100;

describe.skipIf(chromium === undefined)('the app with a large list', () => {
  const browser = useChromium(chromium);

  it('answers at once while 100,000 rows go up, are counted, asked about and shown', async () => {
    const api = await openApi({ latencyMs: 20 });
    const { page, press, folder } = await openAppStage(browser());
    await connectTo(page, api.url);
    await press('Go on to your list');
    const lines = domains(ROWS).map((domain, at) => `Company ${at},${domain}`);
    folder.write('large.csv', `Company,Website\n${lines.join('\n')}\n`);
    await page.locator('input[type=file]').setInputFiles(folder.at('large.csv'));
    const answers = { 'going up': await answerMs(page) };
    await comesTo(page, 'large.csv');
    Object.assign(answers, { 'being counted': await answerMs(page) });
    await page.getByText('What is in it').waitFor();
    await page.locator('dd', { hasText: '100,000' }).first().waitFor();
    await press('Go on to the columns');
    await press('Skip this');
    await page.getByLabel('Calls, at most').fill('2,000');
    await page.getByText('2,000 calls').waitFor();
    await press('Start');
    await page.getByRole('button', { name: 'Pause' }).waitFor();
    Object.assign(answers, { 'being asked about': await answerMs(page) });
    await comesTo(page, 'It is stopped');
    await press('Show the result so far');
    await page.getByRole('cell', { name: 'Found' }).first().waitFor();
    Object.assign(answers, { shown: await answerMs(page) });
    await press('Last');
    await page.getByText('99,951–100,000 of 100,000').waitFor();
    await page.getByRole('button', { name: /^Not asked yet/ }).click();
    await page.getByText('1–50 of 98,000').waitFor();
    expect(api.stats().calls).toBe(2_000);
    for (const [while_, ms] of Object.entries(answers)) {
      expect(ms, while_).toBeLessThan(AT_ONCE_MS);
    }
  });
});

/**
 * How long the page takes to answer a press of a key with a frame: the least of several, since the others
 * may have waited for the machine. Where the page is at work all the time, all of them wait for it.
 */
async function answerMs(page: Page): Promise<number> {
  const times = await page.evaluate(async () => {
    const { document, requestAnimationFrame } = globalThis as unknown as InBrowser;
    const taken: number[] = [];
    for (let at = 0; at < 15; at += 1) {
      await new Promise((resolve) => setTimeout(resolve, 40));
      const before = performance.now();
      document.dispatchEvent(new Event('keydown'));
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
      taken.push(performance.now() - before);
    }
    return taken.sort((one, other) => one - other);
  });
  return times[0] ?? Number.POSITIVE_INFINITY;
}

interface InBrowser {
  readonly document: EventTarget;
  requestAnimationFrame(then: () => void): void;
}
