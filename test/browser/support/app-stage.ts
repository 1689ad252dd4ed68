import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { type Running, start } from '../../integration/support/command.ts';
import { type Folder, openFolder } from '../../integration/support/folder.ts';
import { openPage, type WatchedPage } from './stage.ts';

/** The app, started as people start it, and its page, signed in. */
export interface AppStage extends WatchedPage {
  readonly running: Running;
  /** Files of the test; the app has `home` in it. */
  readonly folder: Folder;
  /** Without what signs in. */
  readonly url: string;
  /** Presses a button, by its name, and counts. */
  press(name: string | RegExp): Promise<void>;
  readonly clicks: number;
}

export interface AppStageOptions {
  readonly page?: BrowserContextOptions;
  /** Another start on the same files. */
  readonly folder?: Folder;
}

/** Starts `brandfill app` and opens the address that it prints. */
export async function openAppStage(
  browser: Browser,
  { page: context, folder = openFolder() }: AppStageOptions = {},
): Promise<AppStage> {
  const args = ['app', '--dir', folder.at('home'), '--port', '0', '--no-open'];
  const running = await start(args, { cwd: folder.path });
  const shown = await running.shows('Lists, results and answers are in');
  const [, address = '', url = ''] = /((http:\S+?)enter\S+)/.exec(shown) ?? [];
  const watched = await openPage(browser, context);
  await watched.page.goto(address);
  await watched.page.getByRole('heading', { level: 2 }).waitFor();
  let clicks = 0;
  return {
    ...watched,
    running,
    folder,
    url,
    press: async (name) => {
      clicks += 1;
      await watched.page.getByRole('button', { name }).first().click();
    },
    get clicks() {
      return clicks;
    },
  };
}

/** Waits for the title of a step. */
export async function comesTo(page: Page, title: string | RegExp): Promise<void> {
  await page.getByRole('heading', { level: 2, name: title }).waitFor();
}

/** Drops a file onto the page, as a file manager does. */
export async function drop(page: Page, name: string, content: Buffer): Promise<void> {
  const transfer = await page.evaluateHandle(
    ([name, base64]) => {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
      const transfer = new (globalThis as unknown as Dropping).DataTransfer();
      transfer.items.add(new File([bytes], name));
      return transfer;
    },
    [name, content.toString('base64')] as const,
  );
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: transfer });
}

interface Dropping {
  readonly DataTransfer: new () => { readonly items: { add(file: File): void } };
}

/** Connects to an API that is described by its address. */
export async function connectTo(page: Page, url: string, key?: string): Promise<void> {
  await page.getByLabel('Another API').check();
  await page.getByLabel('Address of the API').fill(url);
  if (key === undefined)
    await page.getByLabel('How it wants the key', { exact: true }).selectOption('none');
  else await page.getByLabel('Your key', { exact: true }).fill(key);
  await page.getByRole('button', { name: 'Connect' }).click();
}
