import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from '../../src/worker/clock.ts';

/** Time that jumps to whatever is due next: hours pass in milliseconds. It starts at 0. */
export interface VirtualClock extends Clock {
  /**
   * Calls back at a time; what is due at the same time comes in the order in which it was asked
   * for.
   */
  at(timeMs: number, callback: () => void): void;
  /** The machine sleeps for so long: what would have been due meanwhile comes late. */
  jump(ms: number): void;
  /** No time passes until work is done that is done elsewhere. */
  standStill<T>(work: Promise<T>): Promise<T>;
  /**
   * Lets time pass until `work` is done.
   *
   * @param isLate asked before each step. @default always false
   * @returns `stuck` when nothing is due any more and it is not; `late` when `isLate` said so
   */
  pass(work: Promise<unknown>, isLate?: () => boolean): Promise<'done' | 'stuck' | 'late'>;
}

interface Entry {
  readonly timeMs: number;
  callback: (() => void) | undefined;
}

/** In a millisecond: so few that decimals, as in JSON, say each time exactly. */
const TICKS = 64;
/** What waits for the next turn may wait for another one: so many show that nothing more comes. */
const TURNS_AT_END = 10;

export function createVirtualClock(): VirtualClock {
  /** From the latest to the next. */
  const waiting: Entry[] = [];
  let nowMs = 0;
  let outside = 0;

  function add(timeMs: number, callback: () => void): Entry {
    const entry = { timeMs: Math.max(Math.ceil(timeMs * TICKS) / TICKS, nowMs), callback };
    let [from, to] = [0, waiting.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((waiting[middle]?.timeMs ?? 0) > entry.timeMs) from = middle + 1;
      else to = middle;
    }
    waiting.splice(from, 0, entry);
    return entry;
  }

  async function pass(work: Promise<unknown>, isLate = (): boolean => false) {
    let isDone = false;
    const end = (): void => {
      isDone = true;
    };
    work.then(end, end);
    for (;;) {
      const turns = waiting.length === 0 ? TURNS_AT_END : 2;
      for (let turn = 0; turn < turns && !isDone; turn += 1) await nextTurn();
      while (outside > 0) await nextTurn();
      if (isDone) return 'done';
      if (isLate()) return 'late';
      let next = waiting.pop();
      while (next && !next.callback) next = waiting.pop();
      if (!next) return 'stuck';
      nowMs = Math.max(nowMs, next.timeMs);
      next.callback?.();
    }
  }

  return {
    nowMs: () => nowMs,
    at: add,
    jump: (ms) => {
      nowMs += ms;
    },
    standStill: async (work) => {
      outside += 1;
      try {
        return await work;
      } finally {
        outside -= 1;
      }
    },
    sleep: async (ms, signal) => {
      signal.throwIfAborted();
      await new Promise<void>((resolve, reject) => {
        const giveUp = (): void => {
          entry.callback = undefined;
          reject(signal.reason as Error);
        };
        const entry = add(nowMs + ms, () => {
          signal.removeEventListener('abort', giveUp);
          resolve();
        });
        signal.addEventListener('abort', giveUp, { once: true });
      });
    },
    pass,
  };
}

/** A number of a normal distribution. */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
