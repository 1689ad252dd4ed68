import { describe, expect, it } from 'vitest';
import { announceRun, openQueueServer } from '../../src/queue/bullmq/index.ts';
import type { RunProgress } from '../../src/web/board.ts';
import { run, start } from '../integration/support/command.ts';
import { openFolder } from '../integration/support/folder.ts';
import { FAR, openSchedules } from '../integration/support/schedules.ts';
import { domains, listOf } from '../integration/support/tables.ts';
import { useRedis } from '../support/redis.ts';
import { runState } from '../web/boards.ts';
import { findChromium, useChromium } from './support/chromium.ts';
import { findFaults, overflowOf } from './support/faults.ts';
import { openPage } from './support/stage.ts';

const chromium = findChromium();

describe.skipIf(chromium === undefined)('the dashboard of a queue in a browser', () => {
  const browser = useChromium(chromium);

  it('pauses backfills, shows schedules and what is over, and can be used by all', async () => {
    const { redis, folder, keep, job, api } = await openSchedules();
    const options = { cwd: folder.path, env: { BRANDFILL_BASE_URL: api.url } };
    await keep(job('nightly', { cron: FAR }));
    folder.write('backlog.csv', listOf(domains(120)));
    await run(['add', 'backlog.csv', '--queue', redis.url], options);
    const dashboard = await start(['dashboard', '--queue', redis.url, '--listen', '0'], options);
    const [, url = ''] = / is on (http:\S+)\./.exec(await dashboard.shows(' is on http')) ?? [];
    const { page, hosts, complaints } = await openPage(browser(), {
      viewport: { width: 360, height: 740 },
      bypassCSP: true,
    });
    await page.goto(url);
    await page.getByText('3 chunks of runs and backfills wait for a worker.').waitFor();
    await page.getByRole('button', { name: 'Pause backfills' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText('Paused: no call is made for backfills').waitFor();
    await page.getByRole('button', { name: 'Resume backfills' }).waitFor();
    const runNow = page.getByRole('button', { name: 'Run now: nightly' });
    await runNow.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('Ended: done').waitFor();
    await page.getByText('exit code 0').waitFor();
    expect(await page.locator('#schedules').evaluate(hasFocus)).toBe(true);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      expect(await findFaults(page), colorScheme).toEqual([]);
    }
    expect(await overflowOf(page)).toBe(0);
    expect([...hosts]).toEqual(['127.0.0.1']);
    expect(complaints).toEqual([]);
  });

  it('says why calls wait only of runs that make some, and reads out what is amiss', async () => {
    const { url: queue } = await useRedis();
    const redis = await openQueueServer({ url: queue, acceptEviction: false, onNotice: () => {} });
    const announced = (['looking_up', 'stopping', 'lost'] as const).map((phase) => {
      const state = runState({ phase, list: phase, progress: waitingProgress(`${phase} waits`) });
      const describe = (): string => JSON.stringify(state);
      return announceRun(redis.client, { id: phase, describe, onAsked: () => {} });
    });
    const torn = { id: 'torn', describe: () => '{"list": "li', onAsked: () => {} };
    announced.push(announceRun(redis.client, torn));
    const options = { cwd: openFolder().path };
    const dashboard = await start(['dashboard', '--queue', queue, '--listen', '0'], options);
    const [, url = ''] = / is on (http:\S+)\./.exec(await dashboard.shows(' is on http')) ?? [];
    const { page, complaints } = await openPage(browser());
    await page.goto(url);
    await page.getByText('looking_up waits').waitFor();
    await page.getByRole('article', { name: 'stopping' }).waitFor();
    await page.getByRole('article', { name: 'lost' }).waitFor();
    await page.getByRole('alert').getByText('1 run is not shown').waitFor();
    expect(await page.getByText('1,234.5 credits').count()).toBe(3);
    expect(await page.getByText(/ waits$/).allTextContents()).toEqual(['looking_up waits']);
    expect(complaints).toEqual([]);
    for (const run of announced) await run.close();
    await redis.close();
  });
});

function hasFocus(element: { readonly matches: (selector: string) => boolean }): boolean {
  return element.matches(':focus-within');
}

function waitingProgress(waits: string): RunProgress {
  return {
    lookups: 9,
    done: 1,
    found: 1,
    notFound: 0,
    rejected: 0,
    failed: 0,
    calls: 1,
    retries: 0,
    throttled: 0,
    billed: { units: 1_234.5, unit: 'credits' },
    elapsedMs: 1_000,
    ratePerSecond: 1,
    underWay: 8,
    waits,
  };
}
