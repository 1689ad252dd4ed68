import { expect, it, vi } from 'vitest';
import { systemClock } from '../../src/pace/clock.ts';

const never = new AbortController().signal;

it('sleeps at least as long as told, but for the rounding of timers', async () => {
  const startMs = systemClock.nowMs();
  await systemClock.sleep(20, never);
  expect(systemClock.nowMs() - startMs).toBeGreaterThan(18);
});

it('wakes up with the reason of the signal, also if that fired before', async () => {
  const reason = new Error('enough');
  const giveUp = new AbortController();
  const asleep = systemClock.sleep(60_000, giveUp.signal);
  giveUp.abort(reason);
  await expect(asleep).rejects.toBe(reason);
  await expect(systemClock.sleep(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
});

it('does not take a sleep longer than a timer can be for no sleep', async () => {
  const onWarning = vi.fn<(warning: Error) => void>();
  process.on('warning', onWarning);
  const giveUp = new AbortController();
  const asleep = systemClock.sleep(1e15, giveUp.signal).then(
    () => 'woke up',
    () => 'given up',
  );
  await systemClock.sleep(10, never);
  giveUp.abort();
  expect(await asleep).toBe('given up');
  expect(onWarning).not.toHaveBeenCalled();
  process.off('warning', onWarning);
});
