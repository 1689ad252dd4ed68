import { expect, it, vi } from 'vitest';
import { createStopSwitch } from '../../src/worker/stop-switch.ts';

it('stops in two steps: first no new call, then no call at all', () => {
  const stopSwitch = createStopSwitch();
  const seen = (): unknown[] => [
    stopSwitch.stopped?.reason,
    stopSwitch.noNewCall.aborted,
    stopSwitch.noCall.aborted,
  ];
  expect(seen()).toEqual([undefined, false, false]);
  stopSwitch.stop({ reason: 'quota', comeBackAtMs: 5 });
  expect(seen()).toEqual(['quota', true, false]);
  stopSwitch.giveUp({ reason: 'interrupted' });
  expect(seen()).toEqual(['quota', true, true]);
  expect(stopSwitch.stopped).toEqual({ reason: 'quota', comeBackAtMs: 5 });
});

it('giving up stops as well', () => {
  const stopSwitch = createStopSwitch();
  stopSwitch.giveUp({ reason: 'error' });
  expect([stopSwitch.stopped, stopSwitch.noNewCall.aborted]).toEqual([{ reason: 'error' }, true]);
});

it('knows the reason before anybody hears of the stop', () => {
  const stopSwitch = createStopSwitch();
  const heard = vi.fn<(reason: unknown) => void>();
  stopSwitch.noNewCall.addEventListener('abort', () => heard(stopSwitch.stopped?.reason));
  stopSwitch.stop({ reason: 'max_calls' });
  stopSwitch.stop({ reason: 'quota' });
  expect(heard.mock.calls).toEqual([['max_calls']]);
});
