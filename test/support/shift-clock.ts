import { onTestFinished, vi } from 'vitest';

/** Sets the clock of this process, but not that of Redis, until the test ends or sets it right. */
export function shiftClock(byMs: number): void {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + byMs });
  onTestFinished(() => void vi.useRealTimers());
}
