import { createServer } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openListener, type Routes } from '../../src/web/listener.ts';

async function open(...routes: readonly Routes[]): Promise<string> {
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes });
  onTestFinished(() => listener.close());
  return listener.url;
}

it('answers with the first route that fits, on a port that it found', async () => {
  const url = await open(
    (app) => app.get('/a', (context) => context.text('one')),
    (app) => app.get('/a', (context) => context.text('two')),
  );
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d+$/);
  expect(await (await fetch(`${url}/a`)).text()).toBe('one');
  expect((await fetch(`${url}/b`)).status).toBe(404);
});

it('tells nobody why a route failed', async () => {
  const url = await open((app) =>
    app.get('/a', () => {
      throw new Error('s3cret');
    }),
  );
  const answer = await fetch(`${url}/a`);
  expect(answer.status).toBe(500);
  expect(await answer.text()).toBe('Something went wrong here.\n');
});

it('closes while answers are under way', async () => {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    routes: [(app) => app.get('/a', () => new Promise<Response>(() => {}))],
  });
  const answer = fetch(`${listener.url}/a`);
  answer.catch(() => {});
  await fetch(`${listener.url}/b`);
  await listener.close();
  await expect(answer).rejects.toThrow();
});

it('does not wait for answers any longer when the clock is set back', async () => {
  const listener = await openListener({
    host: '127.0.0.1',
    port: 0,
    routes: [(app) => app.get('/a', () => new Promise<Response>(() => {}))],
  });
  const answer = fetch(`${listener.url}/a`);
  answer.catch(() => {});
  await fetch(`${listener.url}/b`);
  const atMs = Date.now();
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => atMs - 3_600_000);
  clock.mockImplementationOnce(() => atMs);
  onTestFinished(() => clock.mockRestore());
  await listener.close();
  await expect(answer).rejects.toThrow();
});

it('sends what was said last before it closes', async () => {
  let end = (): void => {};
  const stream = new ReadableStream({
    start: (controller) => {
      controller.enqueue(new TextEncoder().encode('first, '));
      end = () => {
        controller.enqueue(new TextEncoder().encode('last'));
        controller.close();
      };
    },
  });
  const routes: Routes[] = [(app) => app.get('/a', () => new Response(stream))];
  const listener = await openListener({ host: '127.0.0.1', port: 0, routes });
  const answer = await fetch(`${listener.url}/a`);
  end();
  await listener.close();
  expect(await answer.text()).toBe('first, last');
});

it('leaves Request and Response of the process as they are', async () => {
  const before = [globalThis.Request, globalThis.Response];
  await open();
  expect([globalThis.Request, globalThis.Response]).toEqual(before);
});

it('says in a sentence when the port is taken, or the address is not there', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void other.close());
  await new Promise((resolve) => other.once('listening', resolve));
  const { port } = other.address() as { port: number };
  await expect(openListener({ host: '127.0.0.1', port, routes: [] })).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${port}: another program has that port; give --listen another, or port 0 for any that is free.`,
  );
  await expect(openListener({ host: '203.0.113.1', port: 0, routes: [] })).rejects.toThrow(
    'this machine has no such address',
  );
});
