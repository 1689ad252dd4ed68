import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/worker/clock.ts';

/** Time that stands still until a test moves it. It starts at 0. */
export interface FakeClock extends Clock {
  /** Moves time on and wakes, one after the other, all whose time has come. */
  advance(ms: number): Promise<void>;
  /** How long each sleep was meant to last, in the order in which they began. */
  readonly sleepsMs: readonly number[];
}

export interface FakeClockOptions {
  /** Jumps to the next waking by itself as soon as nothing else happens. @default false */
  readonly isImpatient?: boolean;
}

interface Sleeper {
  readonly untilMs: number;
  wake(): void;
}

/** A clock that moves only when a test says so, or, if it is impatient, whenever all are asleep. */
export function createFakeClock({ isImpatient = false }: FakeClockOptions = {}): FakeClock {
  const sleepsMs: number[] = [];
  const sleepers = new Set<Sleeper>();
  let nowMs = 0;
  let isJumping = false;

  function findNext(): Sleeper | undefined {
    return [...sleepers].reduce<Sleeper | undefined>(
      (first, sleeper) => (first && first.untilMs <= sleeper.untilMs ? first : sleeper),
      undefined,
    );
  }

  async function advanceTo(untilMs: number): Promise<void> {
    await nextTurn();
    for (let next = findNext(); next && next.untilMs <= untilMs; next = findNext()) {
      nowMs = Math.max(nowMs, next.untilMs);
      next.wake();
      await nextTurn();
    }
    nowMs = Math.max(nowMs, untilMs);
  }

  async function jump(): Promise<void> {
    if (isJumping) return;
    isJumping = true;
    await nextTurn();
    for (let next = findNext(); next; next = findNext()) await advanceTo(next.untilMs);
    isJumping = false;
  }

  return {
    sleepsMs,
    nowMs: () => nowMs,
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      sleepsMs.push(ms);
      await new Promise<void>((resolve, reject) => {
        const end = (settle: () => void): void => {
          sleepers.delete(sleeper);
          signal.removeEventListener('abort', giveUp);
          settle();
        };
        const giveUp = (): void => end(() => reject(signal.reason as Error));
        const sleeper: Sleeper = { untilMs: nowMs + ms, wake: () => end(resolve) };
        sleepers.add(sleeper);
        signal.addEventListener('abort', giveUp);
        if (isImpatient) void jump();
      });
    },
    advance: (ms) => advanceTo(nowMs + ms),
  };
}
