import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { SandboxOptions } from '../../../src/sandbox/options.ts';
import type { Sandbox } from '../../../src/sandbox/server.ts';
import { openApi } from '../../integration/support/api.ts';
import { type Running, start } from '../../integration/support/command.ts';
import { domains, type Folder, listOf, openFolder } from '../../integration/support/folder.ts';

/** A run with a dashboard, and the API that it asks. */
export interface DashboardStage {
  readonly api: Sandbox;
  readonly running: Running;
  readonly url: string;
  readonly folder: Folder;
}

export interface StageOptions {
  readonly api?: SandboxOptions;
  readonly rows?: number;
  readonly flags?: readonly string[];
}

/** Starts a run that can be looked at. */
export async function openDashboardStage(options: StageOptions = {}): Promise<DashboardStage> {
  const { api: apiOptions, rows = 3_000, flags = [] } = options;
  const api = await openApi({ latencyMs: 50, ...apiOptions });
  const folder = openFolder();
  folder.write('list.csv', listOf(domains(rows)));
  const args = ['enrich', 'list.csv', '--base-url', api.url, '--yes', '--concurrency', '4'];
  const running = await start([...args, '--listen', '0', ...flags], {
    cwd: folder.path,
  });
  const [, url] =
    /Listening on (\S+) for the dashboard/.exec(await running.shows(' to make')) ?? [];
  if (url === undefined) throw new Error('The dashboard did not say where it is.');
  return { api, running, folder, url: url.replace('0.0.0.0', '127.0.0.1') };
}

/** A page, and what it asked for and complained of. */
export interface WatchedPage {
  readonly page: Page;
  /** The hosts of all requests. */
  readonly hosts: ReadonlySet<string>;
  readonly complaints: readonly string[];
}

/** Opens a page that is closed when the test ends. */
export async function openPage(browser: Browser): Promise<WatchedPage> {
  const context = await browser.newContext({ bypassCSP: true }); // for axe
  context.setDefaultTimeout(100_000); // as for all that a test waits for
  onTestFinished(() => context.close());
  const hosts = new Set<string>();
  const complaints: string[] = [];
  context.on('request', (request) => void hosts.add(new URL(request.url()).hostname));
  context.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  context.on('weberror', (error) => complaints.push(error.error().message));
  return { page: await context.newPage(), hosts, complaints };
}
