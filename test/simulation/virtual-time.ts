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
  readonly order: number;
  readonly callback: () => void;
}

/** A binary heap of events. */
export function createVirtualTime(): VirtualTime {
  const heap: Entry[] = [];
  let nowMs = 0;
  let order = 0;

  function push(entry: Entry): void {
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (!above || isBefore(above, entry)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = entry;
  }

  function pop(): Entry | undefined {
    const first = heap[0];
    const last = heap.pop();
    if (!last || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      const left = heap[2 * index + 1];
      if (!left) break;
      const right = heap[2 * index + 2];
      const isRight = right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = 2 * index + (isRight ? 2 : 1);
    }
    heap[index] = last;
    return first;
  }

  return {
    nowMs: () => nowMs,
    at: (timeMs, callback) => {
      order += 1;
      push({ timeMs: Math.max(timeMs, nowMs), order, callback });
    },
    run: (isOver) => {
      while (!isOver()) {
        const next = pop();
        if (!next) return;
        nowMs = next.timeMs;
        next.callback();
      }
    },
  };
}

function isBefore(one: Entry, other: Entry): boolean {
  return one.timeMs === other.timeMs ? one.order < other.order : one.timeMs < other.timeMs;
}

/** A number of a normal distribution. */
export function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
