import { once } from 'node:events';
import { request } from 'undici';
import { describe, expect, it } from 'vitest';
import type { AppEvents, AppRun } from '../../src/web/app/contract.ts';
import { openApi, untilSilent } from './support/api.ts';
import { type AppInTest, download, enter, isOver, startAppIn } from './support/apps.ts';
import { run, start } from './support/command.ts';
import { openFolder } from './support/folder.ts';
import { domains, listOf, rowsOf } from './support/tables.ts';

type Event = keyof AppEvents;

/** Another tab: the events that it gets, until it is closed. */
async function openTab(app: AppInTest): Promise<{
  next<E extends Event>(event: E, isIt?: (data: AppEvents[E]) => boolean): Promise<AppEvents[E]>;
  close(): void;
}> {
  const { body } = await request(`${app.url}/api/events`, { headers: { cookie: app.cookie } });
  body.on('error', () => {});
  const parts = body.setEncoding('utf8')[Symbol.asyncIterator]() as AsyncIterator<string>;
  let text = '';
  return {
    next: async (event, isIt = () => true) => {
      for (;;) {
        const end = text.indexOf('\n\n');
        if (end === -1) {
          const { value, done } = await parts.next();
          if (done) throw new Error('the events ended');
          text += value;
          continue;
        }
        const [, name, data = ''] = /^event: (\w+)\ndata: (.*)$/m.exec(text.slice(0, end)) ?? [];
        text = text.slice(end + 2);
        if (name !== event) continue;
        const value = JSON.parse(data || '""') as AppEvents[typeof event];
        if (isIt(value)) return value;
      }
    },
    close: () => body.destroy(),
  };
}

async function openStage(latencyMs = 60) {
  const folder = openFolder();
  const api = await openApi({ latencyMs });
  const app = await startAppIn(folder);
  await app.connect({ baseUrl: api.url });
  return { folder, api, app };
}

async function uploadOf(app: AppInTest, count: number, name = 'list.csv'): Promise<string> {
  return (await app.upload(name, listOf(domains(count)))).value.id;
}

describe('runs of brandfill app', () => {
  it('go on without a tab, are paused, resumed and stopped, and go on', async () => {
    const { app, api } = await openStage();
    const { id } = await app.startRun(await uploadOf(app, 1_000));
    const tab = await openTab(app);
    const { runs } = await tab.next('state');
    expect(runs[0]).toMatchObject({ id, state: 'running' });
    const isAsking = ({ runs: live }: AppEvents['board']): boolean =>
      live.some(({ phase }) => phase === 'looking_up');
    const board = await tab.next('board');
    if (!isAsking(board))
      await tab.next('change', (change) => JSON.stringify(change).includes('looking_up'));
    tab.close();
    await app.waitFor(id, ({ steps }) => steps.includes('pause'));
    await app.post(`runs/${id}/pause`);
    await app.waitFor(id, ({ steps }) => steps.includes('resume'));
    const calls = await untilSilent(api);
    expect(calls).toBeLessThan(1_000);
    expect((await app.ask('POST', `runs/${id}/pause`)).status).toBe(409);
    await app.post(`runs/${id}/resume`);
    await expect.poll(() => api.stats().calls).toBeGreaterThan(calls);
    await app.post(`runs/${id}/stop`);
    const stopped = await app.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped', steps: ['go-on'] });
    expect(stopped.statuses?.skipped).toBeGreaterThan(0);
    const asked = await Promise.all(
      [1, 2].map(async () => await app.ask('POST', `runs/${id}/go-on`)),
    );
    expect(new Set(asked.map(({ status }) => status))).toEqual(new Set([204, 409])); // from two tabs
    const done = await app.waitFor(id, isOver);
    expect(done).toMatchObject({ state: 'done', statuses: { found: 1_000 }, calls: 1_000 });
    expect(api.stats()).toMatchObject({ calls: 1_000, domains: { repeated: 0 } });
  });

  it('go on after the program was killed, and nothing is paid twice', async () => {
    const { app, api, folder } = await openStage(180);
    const list = await uploadOf(app, 1_000);
    const { id } = await app.startRun(list, { maxCalls: 700 });
    await expect.poll(() => api.stats().calls).toBeGreaterThan(350);
    app.running.process.kill('SIGKILL');
    await app.running.ended;
    const paid = api.stats().calls;
    const again = await startAppIn(folder);
    const cut = await again.get<AppRun>(`runs/${id}`);
    expect(cut).toMatchObject({ state: 'interrupted', steps: ['go-on'] });
    // What it had been told by then is counted on.
    expect(cut.calls).toBeGreaterThan(50);
    expect((await again.state()).connection).toMatchObject({ baseUrl: api.url });
    await again.post(`runs/${id}/go-on`);
    const stopped = await again.waitFor(id, isOver);
    expect(stopped).toMatchObject({ state: 'stopped' });
    expect(stopped.lines[0]).toMatch(/All calls that you allowed are made/);
    // Calls of the last moment before the end are not known.
    expect(api.stats().calls).toBeLessThan(700 + paid / 2);
    await again.post(`runs/${id}/go-on`);
    const done = await again.waitFor(id, isOver);
    expect(done).toMatchObject({ state: 'done', statuses: { found: 1_000 } });
    expect(done.calls).toBeLessThanOrEqual(api.stats().calls);
    expect(done.calls).toBeGreaterThan(800);
    // Only what was under way when it was killed, and not committed yet.
    expect(api.stats().domains.repeated).toBeLessThan(100);
    const rows = rowsOf(String(await download(again, `runs/${id}/result`)));
    expect(rows.map(({ domain }) => domain)).toEqual(domains(1_000));
  });

  it('make two lists at once, of which neither pays for what the other has', async () => {
    const { app, api } = await openStage();
    const [one, two] = [await uploadOf(app, 400), await uploadOf(app, 600, 'other.csv')];
    const runs = await Promise.all([app.startRun(one), app.startRun(two)]);
    for (const { id } of runs)
      expect(await app.waitFor(id, isOver)).toMatchObject({ state: 'done' });
    expect(api.stats()).toMatchObject({ calls: 600, domains: { repeated: 0 } });
    expect((await app.ask('POST', `lists/${one}/delete`)).status).toBe(204);
    expect(await app.get(`runs/${runs[0].id}`)).toMatchObject({ steps: [], canMend: false });
  });

  it('keep to bounds, and refuse to lose the list that they need', async () => {
    const { app, api } = await openStage(50);
    const list = await uploadOf(app, 500);
    const { id } = await app.startRun(list, { maxCalls: 100 });
    const refused = await app.ask('POST', `lists/${list}/delete`);
    expect(refused).toMatchObject({ status: 409, value: { error: { code: 'NOT_NOW' } } });
    expect(await app.waitFor(id, isOver)).toMatchObject({
      state: 'stopped',
      statuses: { found: 100, skipped: 400 },
      calls: 100,
    });
    expect(api.stats().calls).toBe(100);
  });

  it('are stopped in order by Ctrl-C, and are there at the next start', async () => {
    const { app, folder, api } = await openStage();
    const { id } = await app.startRun(await uploadOf(app, 1_000));
    await expect.poll(() => api.stats().calls).toBeGreaterThan(100);
    app.running.process.kill('SIGINT');
    expect(await app.running.ended).toMatchObject({ code: 0, signal: null });
    const again = await startAppIn(folder);
    const cut = await again.get<AppRun>(`runs/${id}`);
    expect(cut).toMatchObject({ state: 'interrupted', steps: ['go-on'] });
    await again.post(`runs/${id}/go-on`);
    await again.waitFor(id, isOver);
    expect(api.stats()).toMatchObject({ calls: 1_000, domains: { repeated: 0 } });
  });

  it('need the key typed again after a start, unless it is kept', async () => {
    const folder = openFolder();
    const api = await openApi({ auth: { scheme: { header: 'x-key' }, key: 'sesame-1234' } });
    const connection = { baseUrl: api.url, auth: 'header:x-key', apiKey: 'sesame-1234' };
    for (const keepKey of [false, true]) {
      const app = await startAppIn(folder);
      await app.connect({ ...connection, keepKey });
      const { id } = await app.startRun(await uploadOf(app, 2));
      await app.waitFor(id, isOver);
      app.running.process.kill('SIGTERM');
      await app.running.ended;
      const again = await startAppIn(folder);
      const { connection: known } = await again.state();
      expect(known).toMatchObject({ hasKey: keepKey, isKeyKept: keepKey });
      const tested = await again.ask('POST', 'connection/test', { domain: 'acme.com' });
      expect(tested.status).toBe(keepKey ? 200 : 409);
      if (!keepKey) expect(tested.text).toMatch(/Type it under Connect/);
      again.running.process.kill('SIGTERM');
      await again.running.ended;
    }
  });
});

describe('a second brandfill app', () => {
  it('on the same folder gives an address of the first one, and does no harm', async () => {
    const { app, folder } = await openStage();
    const second = await run(['app', '--no-open', '--dir', 'app'], { cwd: folder.path });
    expect(second.code).toBe(0);
    expect(second.stderr).toMatch(/^Brandfill runs already for .*app\. /);
    const [address = ''] = /http:\S+/.exec(second.stderr) ?? [];
    expect(new URL(address).origin).toBe(app.url);
    expect(await enter(address)).toBe(app.cookie);
    expect((await app.state()).connection).not.toBeNull();
  });

  it('on another folder runs beside it, on a port that is free', async () => {
    const { folder } = await openStage();
    const one = await start(['app', '--no-open', '--dir', 'one'], { cwd: folder.path });
    const two = await start(['app', '--no-open', '--dir', 'two'], { cwd: folder.path });
    const places = await Promise.all(
      [one, two].map(async ({ shows }) => /http:\/\/\S+:\d+/.exec(await shows('Ctrl-C'))?.[0]),
    );
    expect(new Set(places).size).toBe(2);
    for (const { process } of [one, two]) {
      process.kill('SIGTERM');
      await once(process, 'close');
    }
  });

  it('says what to do when the first one does not answer', async () => {
    const { app, folder } = await openStage();
    app.running.process.kill('SIGSTOP');
    const second = await run(['app', '--no-open', '--dir', 'app'], { cwd: folder.path });
    app.running.process.kill('SIGCONT');
    expect(second.code).toBe(2);
    expect(second.stderr).toMatch(/another Brandfill app has it and does not answer/);
  });
});
