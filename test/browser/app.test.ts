import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { openApi } from '../integration/support/api.ts';
import { domains, listOf, rowsOf } from '../integration/support/tables.ts';
import { open, row, workbookOf } from '../rows/xlsx/workbooks.ts';
import { comesTo, connectTo, drop, openAppStage } from './support/app-stage.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { findFaults, overflowOf } from './support/faults.ts';

const chromium = findChromium();
const SAMPLE = join(import.meta.dirname, '../../samples/crm-export.xlsx');
const KEY = 'correct-horse-battery';
const HOSTILE = '<img src=x onerror="document.title=\'hacked\'">';

/** Takes the file that a link below the rows of a result gives. */
async function download(page: Page, name: string): Promise<Buffer> {
  // The rows move what stands below them when they come, at times between aiming and pressing.
  await page.getByRole('table', { name: 'Rows of the result' }).waitFor();
  const coming = page.waitForEvent('download');
  await page.getByRole('link', { name }).click();
  return readFileSync(await (await coming).path());
}

describe.skipIf(chromium === undefined)('the app in a browser', () => {
  const browser = useChromium(chromium);

  it('leads from nothing to the first result of the sample in eight clicks', async () => {
    const stage = await openAppStage(browser());
    const { page, press, hosts, complaints } = stage;
    await press('Rehearse');
    await press('Try our sample workbook');
    await page.getByText('What is in it').waitFor();
    await press('Go on to the columns');
    await press('Ask about three companies');
    await page.getByText('How these rows will look').waitFor();
    await press('Go on to the plan');
    await press('Start');
    await press('Show the result');
    await page.getByRole('link', { name: 'Download the result' }).waitFor();
    await page.getByRole('cell', { name: 'Found' }).first().waitFor();
    expect(stage.clicks).toBeLessThanOrEqual(7); // and one for the download
    const result = await open(await download(page, 'Download the result'));
    const before = await open(readFileSync(SAMPLE));
    const own = before.format.columns;
    expect(result.format.columns.slice(0, own.length)).toEqual(own);
    expect(result.rows.map((cells) => own.map((name) => cells[name]))).toEqual(
      before.rows.map((cells) => own.map((name) => cells[name])),
    );
    const found = result.rows.filter((cells) => cells['brand_status'] === 'found');
    expect(found.length).toBeGreaterThan(5);
    for (const cells of found) expect(cells['brand_name']).toMatch(/./);
    expect([...hosts]).toEqual(['127.0.0.1']);
    expect(complaints).toEqual([]);
  });

  it('adds the chosen columns to a workbook that was dropped, and mends what was wrong', async () => {
    const api = await openApi({
      auth: { scheme: 'bearer', key: KEY },
      respond: (domain) => ({ body: { name: domain.toUpperCase(), place: { city: 'Ulm' } } }),
    });
    const { page, press, folder } = await openAppStage(browser());
    await connectTo(page, api.url, KEY);
    await comesTo(page, /^Connected/);
    await page.getByLabel('A company that you know').fill('https://acme.com/about');
    await page.keyboard.press('Enter');
    await page.getByText('acme.com: Found.').waitFor();
    await press('Go on to your list');
    const rows = [
      ['Company', 'Site', 'Town'],
      ['Acme', 'acme.com', 'Springfield'],
      ['Globex', 'globex.com', ''],
      ['Initech', 'our own site', ''],
    ].map((cells, at) => row(at + 1, ...cells));
    const workbook = await workbookOf({ sheets: [{ name: 'Leads', rows: rows.join('') }] });
    await drop(page, 'Meine Leads.xlsx', workbook);
    await comesTo(page, 'Meine Leads.xlsx');
    await page.getByText('1 row has no web address: why').click();
    await page.getByText('our own site').first().waitFor();
    await press('Go on to the columns');
    await press('Ask about three companies');
    await page.getByText('What I choose').click();
    await page.getByRole('checkbox', { name: /^city/ }).check();
    await page.getByLabel('Name of column 2').fill('town');
    await page.getByLabel('Name of column 2').press('Alt+ArrowUp');
    await page.getByText('Fill blank cells').click();
    await press('Fill a column');
    await page.getByLabel('Where it is blank, fill').selectOption('Town');
    await page.getByLabel('with', { exact: true }).selectOption({ label: 'place_city' });
    await page.getByRole('columnheader', { name: 'brand_town' }).waitFor();
    await press('Go on to the plan');
    await press('Start');
    await press('Show the result');
    await page.getByRole('button', { name: /^No web address/ }).click();
    await page.getByLabel('Web address in row 3').fill('initech.com');
    await press('Ask about the 1 mended cell');
    await comesTo(page, 'It is done');
    await press('Show the result');
    const result = await open(await download(page, 'Download the result'));
    expect(
      result.rows.map((cells) => [cells['Town'], cells['brand_town'], cells['brand_name']]),
    ).toEqual([
      ['Springfield', 'Ulm', 'ACME.COM'],
      ['Ulm', 'Ulm', 'GLOBEX.COM'],
      ['Ulm', 'Ulm', 'INITECH.COM'],
    ]);
    const columns = result.format.columns;
    expect(columns.indexOf('brand_town')).toBeLessThan(columns.indexOf('brand_name'));
    expect(api.stats().calls).toBe(3);
    expect(await page.content()).not.toContain(KEY);
    await press('Again, or every night');
    await page.getByText(/npx brandfill enrich .*Meine Leads\.xlsx/).waitFor();
    await press('Write the job file');
    await page.getByText('home/jobs/', { exact: false }).first().waitFor();
    expect(folder.names()).toEqual(['home']);
  });

  it('shows what is hostile as text, and asks before it goes on', async () => {
    const api = await openApi({
      respond: (domain) => ({ body: { name: HOSTILE, [HOSTILE]: HOSTILE, domain } }),
    });
    const { page, press, complaints } = await openAppStage(browser());
    await connectTo(page, api.url);
    await press('Go on to your list');
    const quoted = `"${HOSTILE.replaceAll('"', '""')}"`;
    const lines = domains(30).map((domain) => `${domain},${quoted}`);
    const csv = `domain,${quoted}\n${lines.join('\n')}\n${quoted},x\n`;
    await drop(page, '<b>list.csv', Buffer.from(csv));
    await comesTo(page, '<b>list.csv');
    await press('Go on to the columns');
    await press('Ask about three companies');
    await page.getByText('What I choose').click();
    await press('Go on to the plan');
    await page.getByLabel('The first 20, then ask me').check();
    await press('Start with the first 20');
    await comesTo(page, 'Shall it go on?');
    expect(api.stats().calls).toBe(3 + 20);
    await press('Yes, go on');
    await comesTo(page, 'It is done');
    await press('Show the result');
    await page.getByRole('cell', { name: HOSTILE }).first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    expect(await page.title()).not.toBe('hacked');
    const result = rowsOf((await download(page, 'Download the result')).toString('utf8'));
    expect(result.filter(({ brand_status }) => brand_status === 'found')).toHaveLength(30);
    expect(complaints).toEqual([]);
  });

  it('says what to do about a wrong address, a refused key and lists that cannot be read', async () => {
    const api = await openApi({ auth: { scheme: 'bearer', key: KEY } });
    const { page, press } = await openAppStage(browser());
    const alert = page.getByRole('alert');
    await connectTo(page, 'api.example', 'key');
    expect(await alert.textContent()).toMatch(/https?:\/\//);
    await connectTo(page, api.url, 'wrong');
    await comesTo(page, /^Connected/);
    await page.getByLabel('A company that you know').fill('acme.com');
    await press(/^Test/);
    await page.locator('.note.bad', { hasText: 'The API does not accept the key.' }).waitFor();
    await press('Go on to your list');
    await drop(page, 'broken.xlsx', Buffer.from('PK\u0003\u0004 and no more'));
    await alert.getByText('broken.xlsx').first().waitFor();
    await drop(page, 'people.csv', Buffer.from('name,age\nAnn,31\nBob,42\n'));
    await comesTo(page, 'people.csv');
    await page.getByText('Choose the column with the addresses in the table below.').waitFor();
    expect(await page.getByRole('button', { name: 'Go on to the columns' }).isDisabled()).toBe(
      true,
    );
  });

  it('shows the column with the addresses, though it is the last of many', async () => {
    const api = await openApi();
    const { page, press } = await openAppStage(browser(), {
      page: { viewport: { width: 390, height: 844 } },
    });
    await connectTo(page, api.url);
    await press('Go on to your list');
    const names = Array.from({ length: 25 }, (_, at) => `a column of its own ${at}`);
    const row = [...names.map(() => 'x'), 'acme.com'];
    await drop(page, 'list.csv', Buffer.from(`${[...names, 'website'].join()}\n${row.join()}\n`));
    const column = page.getByRole('button', { name: 'website' });
    await expect.poll(async () => (await column.boundingBox())?.x).toBeLessThan(390);
  });

  it('goes on without its page, and shows where it is to somebody who comes back', async () => {
    const api = await openApi({ latencyMs: 60 });
    const { page, press, url } = await openAppStage(browser());
    await connectTo(page, api.url);
    await press('Go on to your list');
    await drop(page, 'list.csv', Buffer.from(listOf(domains(400))));
    await press('Go on to the columns');
    await press('Skip this');
    await press('Start');
    await press('Pause');
    await page.getByText('Paused: no new call starts', { exact: true }).waitFor();
    const again = await page.context().newPage();
    await page.close();
    await again.goto(url);
    await comesTo(again, 'It is running');
    await again.getByRole('button', { name: 'Resume' }).click();
    await comesTo(again, 'It is done');
    expect(api.stats().calls).toBe(400);
  });

  it('takes the focus to the title of a step before somebody can begin to type', async () => {
    const api = await openApi();
    const { page } = await openAppStage(browser());
    // Somebody who is in the field at once, as one may be on a slow machine.
    const isLeftThere = page.evaluate(async () => {
      const { document, MutationObserver, setTimeout } = globalThis as unknown as Quick;
      return await new Promise<boolean>((resolve) => {
        new MutationObserver((_, observer) => {
          const field = document.querySelector('input[placeholder="acme.com"]');
          if (!field) return;
          observer.disconnect();
          field.focus();
          setTimeout(() => resolve(field.matches(':focus')), 500);
        }).observe(document.body, { childList: true, subtree: true });
      });
    });
    await connectTo(page, api.url);
    expect(await isLeftThere).toBe(true);
  });

  const LOOKS = {
    'on a large screen': { viewport: { width: 1_280, height: 900 } },
    'on a phone, in the dark, in German': {
      viewport: { width: 390, height: 844 },
      colorScheme: 'dark',
      locale: 'de-DE',
    },
  } as const;

  it.each(Object.entries(LOOKS))('can be used by all, %s', async (_, look) => {
    const { page } = await openAppStage(browser(), { page: { ...look, bypassCSP: true } });
    const check = async (step: string): Promise<void> => {
      expect(await findFaults(page), step).toEqual([]);
      expect(await overflowOf(page), step).toBe(0);
      expect(await page.locator('.primary').count(), step).toBe(1);
    };
    /** Goes to a button as somebody does who has no mouse, from where the focus is. */
    const pressByKey = async (name: string): Promise<void> => {
      const button = page.getByRole('button', { name }).first();
      await button.and(page.locator(':not([disabled])')).waitFor();
      for (let tabs = 0; !(await button.evaluate(isFocused)); tabs += 1) {
        if (tabs > 200) throw new Error(`There is no way by keyboard to ${name}.`);
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
    };
    await check('connect');
    await pressByKey('Rehearse');
    await comesTo(page, 'Your list');
    expect(await page.getByRole('heading', { name: 'Your list' }).evaluate(isFocused)).toBe(true);
    await check('list');
    await pressByKey('Try our sample workbook');
    await page.getByText('What is in it').waitFor();
    await check('list that was read');
    await pressByKey('Go on to the columns');
    await pressByKey('Ask about three companies');
    await page.getByText('How these rows will look').waitFor();
    await page.getByText('What I choose').click();
    await page.getByText('Fill blank cells').click();
    await check('columns');
    await pressByKey('Go on to the plan');
    await page.getByText('It will cost').waitFor();
    await check('plan');
    await pressByKey('Start');
    await pressByKey('Show the result');
    await page.getByRole('link', { name: 'Download the result' }).waitFor();
    await page.getByRole('cell', { name: 'Found' }).first().waitFor();
    await check('result');
    await pressByKey('Again, or every night');
    await pressByKey('Write the job file');
    await page.getByText('Now one of these has it run').waitFor();
    await check('again');
  });
});

/** What a page has, as far as it is used here. */
interface Quick {
  readonly document: {
    readonly body: unknown;
    querySelector(selector: string): { focus(): void; matches(selector: string): boolean } | null;
  };
  readonly MutationObserver: new (
    onChange: (changes: unknown, observer: { disconnect(): void }) => void,
  ) => { observe(target: unknown, what: object): void };
  setTimeout(work: () => void, ms: number): void;
}

function isFocused(element: { readonly matches: (selector: string) => boolean }): boolean {
  return element.matches(':focus');
}
