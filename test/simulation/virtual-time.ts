/** Time that jumps from one event to the next: hours pass in milliseconds. */
export interface VirtualTime {
  nowMs(): number;
  /** Calls back at a time; what is due at the same time comes in the order in which it was asked for. */
  at(timeMs: number, callback: () => void): void;
  /** Goes on until nothing is left, or `isOver`. */
  run(isOver: () => boolean): void;
}

interface Entry {
  readonly timeMs: number;
  readonly callback: () => void;
}

/** In a millisecond: so few that decimals say each time exactly. */
const TICKS = 64;

/** Events in a list from the latest to the next: few are waited for at the same time. */
export function createVirtualTime(): VirtualTime {
  const waiting: Entry[] = [];
  let nowMs = 0;
  return {
    nowMs: () => nowMs,
    at: (timeMs, callback) => {
      const entry = { timeMs: Math.max(Math.ceil(timeMs * TICKS) / TICKS, nowMs), callback };
      let [from, to] = [0, waiting.length];
      while (from < to) {
        const middle = (from + to) >> 1;
        if ((waiting[middle]?.timeMs ?? 0) > entry.timeMs) from = middle + 1;
        else to = middle;
      }
      waiting.splice(from, 0, entry);
    },
    run: (isOver) => {
      while (!isOver()) {
        const next = waiting.pop();
        if (!next) return;
        nowMs = next.timeMs;
        next.callback();
      }
    },
  };
}

/** A number of a normal distribution. */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
