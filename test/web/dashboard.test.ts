import { expect, it, onTestFinished } from 'vitest';
import { ADDRESS_RANGES } from '../../src/options/network-kinds.ts';
import type { Board } from '../../src/web/board.ts';
import { openDashboard } from '../../src/web/dashboard.ts';
import { openListener, type Routes } from '../../src/web/listener.ts';
import { createGate } from '../support/gate.ts';
import { useReverseProxy } from '../support/reverse-proxy.ts';
import { board } from './boards.ts';

const TOKEN = 'correct-horse-battery';

interface Served {
  readonly token?: string;
  readonly proxy?: string;
  readonly read?: () => Promise<Board>;
  /** Called when a request has its answer, of which the body may follow. */
  readonly onAnswer?: () => void;
}

async function serve(given: Served = {}): Promise<string> {
  const { read = async () => board(), onAnswer = () => {} } = given;
  const refuse = async (): Promise<string> => 'not here';
  const dashboard = await openDashboard({
    source: { read, ask: refuse, runNow: refuse, steerBackfills: refuse },
    token: given.token,
    allowHost: [],
    trustedProxy: given.proxy === undefined ? [] : ADDRESS_RANGES.parse(given.proxy),
    label: '--allow-host',
  });
  const watched: Routes = (app) =>
    void app.use(async (_, next) => {
      await next();
      onAnswer();
    });
  const routes = [watched, dashboard.routes];
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes });
  onTestFinished(async () => {
    await dashboard.close();
    await listener.close();
  });
  return listener.url;
}

/** How an answer begins: its status, and the reader of what follows. */
async function watch(
  url: string,
): Promise<readonly [number, ReadableStreamDefaultReader | undefined]> {
  const answer = await fetch(`${url}/events`);
  return [answer.status, answer.body?.getReader()];
}

it('a HEAD of the events leaves no viewer behind', async () => {
  const url = await serve();
  for (let at = 0; at < 150; at += 1) {
    const head = await fetch(`${url}/events`, { method: 'HEAD' });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-type')).toBe('text/event-stream');
  }
  const [status, viewer] = await watch(url);
  expect(status).toBe(200);
  await viewer?.cancel();
});

it('a hundred viewers and no more are let in, also when all come at once', async () => {
  // The first board is read only when all are there.
  const all = createGate();
  let answers = 0;
  const url = await serve({
    read: async () => {
      await all.opened;
      return board();
    },
    onAnswer: () => {
      answers += 1;
      if (answers === 150) all.open();
    },
  });
  const came = await Promise.all(Array.from({ length: 150 }, () => watch(url)));
  const count = (status: number): number => came.filter(([found]) => found === status).length;
  expect([count(200), count(503)]).toEqual([100, 50]);
  for (const [, viewer] of came) await viewer?.cancel();
});

it('the right token works behind a proxy after many wrong ones, typed in and in a header', async () => {
  const url = await serve({ token: TOKEN, proxy: '127.0.0.1' });
  const proxy = await useReverseProxy(url, '/brandfill');
  const page = `${proxy.url}/brandfill`;
  const signIn = async (token: string, from: string, signal?: AbortSignal): Promise<number> => {
    const answer = await fetch(`${page}/login`, {
      method: 'POST',
      headers: { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': from },
      body: new URLSearchParams({ token }),
      redirect: 'manual',
      ...(signal && { signal }),
    });
    return answer.status;
  };
  const leaving = new AbortController();
  const guesses = Array.from({ length: 30 }, (_, at) =>
    signIn(`guess-${at}`, '203.0.113.9', leaving.signal).catch(() => 0),
  );
  expect(await Promise.race(guesses)).toBe(401);
  expect(await signIn(TOKEN, '203.0.113.9')).toBe(303);
  const authorization = `Bearer ${TOKEN}`;
  expect((await fetch(`${page}/`, { headers: { authorization } })).status).toBe(200);
  expect(await signIn('guess', '203.0.113.10')).toBe(401);
  leaving.abort();
  await Promise.all(guesses);
});
