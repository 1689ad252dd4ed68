import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { run } from '../integration/support/command.ts';
import { openFolder } from '../integration/support/folder.ts';
import { domains, listOf } from '../integration/support/tables.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { findFaults, overflowOf } from './support/faults.ts';
import { openPage } from './support/stage.ts';

const chromium = findChromium();
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'">';

/** Makes a run of which there is much to tell, and says where its report is. */
async function makeReport(): Promise<string> {
  const api = await openApi({
    errors: 0.1,
    respond: (domain) =>
      /[0-3]\./.test(domain) ? { status: 422, body: { error: HOSTILE } } : undefined,
  });
  const folder = openFolder();
  folder.write(
    'list.csv',
    `${listOf(domains(60))}Nobody,\n"${HOSTILE.replaceAll('"', '""')}",n/a\n`,
  );
  const args = ['enrich', 'list.csv', '--base-url', api.url, '--yes', '--price', '0.002'];
  await run([...args, '--retries', '0', '--report', 'run.html'], { cwd: folder.path });
  return pathToFileURL(folder.at('run.html')).href;
}

describe.skipIf(chromium === undefined)('a report in a browser', () => {
  const browser = useChromium(chromium);

  it('can be used by all, by day, by night and on a phone, and asks for nothing', async () => {
    const url = await makeReport();
    const { page, hosts, complaints } = await openPage(browser(), { bypassCSP: true });
    await page.goto(url);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [360, 1_280]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await findFaults(page), `${colorScheme}, ${width} px`).toEqual([]);
      }
    }
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toBe('hacked');
    expect([...hosts]).toEqual(['']); // the file itself
    expect(complaints).toEqual([]);
  });

  it('leaves no gap beside its figures and fits, however wide the window', async () => {
    const { page } = await openPage(browser());
    await page.goto(await makeReport());
    expect(await page.locator('.tile').count()).toBe(7);
    for (const width of [320, 390, 600, 768, 1_024, 1_600]) {
      await page.setViewportSize({ width, height: 900 });
      expect(await overflowOf(page), `${width} px`).toBe(0);
      const grid = await page.locator('.tiles').boundingBox();
      const last = await page.locator('.tile').last().boundingBox();
      const rightOf = (box: typeof grid): number => (box ? box.x + box.width : Number.NaN);
      expect(rightOf(last), `${width} px`).toBeCloseTo(rightOf(grid) - 1, 0);
    }
  });
});
