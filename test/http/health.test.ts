import { expect, it, onTestFinished, vi } from 'vitest';
import { createHealth, healthRoutes, openListener } from '../../src/web/listener.ts';

it('is ready when it has started and every check holds', async () => {
  const health = createHealth();
  expect(await health.reasons()).toEqual(['it is starting']);
  health.started();
  expect(await health.reasons()).toEqual([]);
  let isStopping = false;
  health.check(() => (isStopping ? 'it was told to stop' : undefined));
  health.check(async () => undefined);
  expect(await health.reasons()).toEqual([]);
  isStopping = true;
  expect(await health.reasons()).toEqual(['it was told to stop']);
});

it('takes a check that throws for one that failed', async () => {
  const health = createHealth();
  health.started();
  health.check(() => Promise.reject(new Error('no way')));
  expect(await health.reasons()).toEqual(['no way']);
});

it('takes a check without an answer in two seconds for one that failed', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const health = createHealth();
  health.started();
  health.check(() => new Promise(() => {}));
  const reasons = health.reasons();
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await reasons).toEqual(['a check had no answer in time']);
});

it('answers /livez always, and /readyz with the reasons', async () => {
  const health = createHealth();
  const routes = [healthRoutes(health)];
  const { url, close } = await openListener({ host: '127.0.0.1', port: 0, routes });
  const live = await fetch(`${url}/livez`);
  expect([live.status, await live.json()]).toEqual([200, { live: true }]);
  const early = await fetch(`${url}/readyz`);
  expect([early.status, await early.json()]).toEqual([
    503,
    { ready: false, reasons: ['it is starting'] },
  ]);
  health.started();
  const ready = await fetch(`${url}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, reasons: [] }]);
  await close();
});
