import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openApi, untilSilent } from './support/api.ts';
import { type CommandOptions, runHere, startHere } from './support/command.ts';
import { askRun, readBoard, signIn, statusOf } from './support/dashboards.ts';
import { openList } from './support/folder.ts';

const TOKEN = 'correct-horse-battery';

/** A run that shows a dashboard, and where that is. */
async function openStage(flags: readonly string[] = [], env: CommandOptions['env'] = {}) {
  const api = await openApi({ latencyMs: 50 });
  const folder = openList(2_000);
  const args = ['enrich', 'list.csv', '--base-url', api.url, '--yes', '--concurrency', '4'];
  const running = startHere([...args, '--listen', '0', ...flags], { cwd: folder.path, env });
  const shown = await running.shows(' to make');
  const [, url = ''] = /Listening on (\S+) for the dashboard/.exec(shown) ?? [];
  return { api, running, url };
}

describe('enrich --listen', () => {
  it('shows the run, and pauses, resumes and stops it', async () => {
    const { api, url, running } = await openStage();
    const [state] = (await readBoard(url)).runs;
    expect(state).toMatchObject({ list: 'list.csv', phase: 'looking_up', rows: 2_000 });
    const ask = async (action: string): Promise<number> =>
      await askRun(url, state?.runId ?? '', action);
    expect(await ask('pause')).toBe(200);
    const calls = await untilSilent(api);
    expect(calls).toBeLessThan(2_000);
    expect((await readBoard(url)).runs[0]).toMatchObject({ isPaused: true });
    expect(await ask('pause')).toBe(409);
    expect(await ask('resume')).toBe(200);
    while (api.stats().calls === calls) await delay(10);
    expect(await ask('explode')).toBe(422);
    expect(await ask('stop')).toBe(200);
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain('Note: Paused: no new call starts');
  });

  it('lets only those in who have the token', async () => {
    const env = { BRANDFILL_DASHBOARD_TOKEN: TOKEN };
    const { url } = await openStage(['--listen', '0.0.0.0:0'], env);
    const here = url.replace('0.0.0.0', '127.0.0.1');
    for (const path of ['/', '/api/events', '/main.js', '/queues']) {
      expect(await statusOf(here + path), path).toBe(path === '/queues' ? 404 : 401);
    }
    expect(await signIn(here, 'wrong')).toEqual({ status: 401, cookie: '' });
    const { status, cookie } = await signIn(here, TOKEN);
    expect(status).toBe(303);
    expect(cookie).toMatch(/^brandfill_session=[\w-]{32}; Path=\/; HttpOnly; SameSite=Strict$/);
    const [pair = ''] = cookie.split(';');
    expect((await readBoard(here, { cookie: pair })).runs).toHaveLength(1);
    const authorization = `Bearer ${TOKEN}`;
    expect((await readBoard(here, { authorization })).runs).toHaveLength(1);
    // A proxy in front of it may ask under any name.
    const headers = { host: 'dash.example.com', authorization };
    expect(await statusOf(here, { headers })).toBe(200);
  });

  it('refuses to be open to others without a token', async () => {
    const folder = openList(1);
    const args = ['enrich', 'list.csv', '--base-url', 'http://127.0.0.1:9', '--yes'];
    const listening = [...args, '--listen', '0.0.0.0:0'];
    const open = await runHere(listening, { cwd: folder.path });
    expect(open.code).toBe(2);
    expect(open.stderr).toMatch(/^brandfill: Cannot show the dashboard on 0\.0\.0\.0, /);
    const weak = await runHere(listening, {
      cwd: folder.path,
      env: { BRANDFILL_DASHBOARD_TOKEN: 'hunter2' },
    });
    expect(weak.code).toBe(2);
    expect(weak.stderr).toMatch(/^brandfill: Cannot use the token of the dashboard: /);
    expect(weak.stderr).not.toContain('hunter2');
    expect(folder.names()).toEqual(['list.csv']);
  });
});
