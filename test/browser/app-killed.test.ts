import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { domains, listOf } from '../integration/support/tables.ts';
import { comesTo, connectTo, drop, openAppStage } from './support/app-stage.ts';
import { findChromium, useChromium } from './support/chromium.ts';

const chromium = findChromium();

describe.skipIf(chromium === undefined)('the app that was killed', () => {
  const browser = useChromium(chromium);

  it('shows the run that it was in, started again, and goes on where it was', async () => {
    const api = await openApi({ latencyMs: 50 });
    const first = await openAppStage(browser());
    await connectTo(first.page, api.url);
    await first.press('Go on to your list');
    await drop(first.page, 'list.csv', Buffer.from(listOf(domains(2_000))));
    await first.press('Go on to the columns');
    await first.press('Skip this');
    await first.press('Start');
    await comesTo(first.page, 'It is running');
    await expect.poll(() => api.stats().calls).toBeGreaterThan(300);
    first.running.process.kill('SIGKILL');
    await first.running.ended;
    await first.page.close();
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
});
