import { NotAskedError } from './stop-switch.ts';

/** New lookups, those that ask again, and what goes ahead of both. */
export type Waiting = 'new' | 'again' | 'probe';

/** A question that waits, and may be wanted no longer meanwhile. */
export interface Wanting {
  isWanted(): boolean;
  /** Of several lists that wait, one after the other has a turn. @default the only list's */
  readonly list?: unknown;
}

interface Waiter {
  readonly wake: () => void;
  readonly leave: () => void;
  readonly question: Wanting | undefined;
}

/** Callers that wait, in the order in which they came. */
export class WaitQueue {
  readonly #lines: Readonly<Record<Waiting, Waiter[]>> = { new: [], again: [], probe: [] };
  #turns = 0;
  #lastList: unknown;

  /** The number of waiting callers. */
  get length(): number {
    const { new: fresh, again, probe } = this.#lines;
    return fresh.length + again.length + probe.length;
  }

  /** Whether any of them was let through before. */
  get hasAgain(): boolean {
    return this.#lines.again.length > 0;
  }

  get hasProbe(): boolean {
    return this.#lines.probe.length > 0;
  }

  /**
   * Waits until it is this caller's turn: lookups that ask again take turns with new ones.
   *
   * @throws the reason of the signal, when it is aborted before that; at once, when it was already
   */
  wait(signal: AbortSignal, kind: Waiting, question?: Wanting): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      // A signal tells of its abort once: whoever comes later would wait for ever.
      if (signal.aborted) return reject(signal.reason as Error);
      const line = this.#lines[kind];
      const giveUp = (): void => {
        line.splice(line.indexOf(waiter), 1);
        reject(signal.reason as Error);
      };
      const wake = (): void => {
        signal.removeEventListener('abort', giveUp);
        resolve();
      };
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp);
        reject(new NotAskedError());
      };
      const waiter = { wake, leave, question };
      signal.addEventListener('abort', giveUp, { once: true });
      line.push(waiter);
    });
  }

  /** Those go that are not wanted any more. */
  leave(): void {
    for (const line of [this.#lines.new, this.#lines.again]) {
      const left = line.splice(0);
      for (const one of left) {
        if (one.question?.isWanted() === false) one.leave();
        else line.push(one);
      }
    }
  }

  /**
   * Wakes the caller that has waited longest, of either kind and of each list in turn.
   *
   * @param isSteady whether calls start at a rate that is given. A limit at half of that refuses
   *   each second call: turns are not in step with it, then
   */
  wakeNext(isSteady = false): void {
    const ahead = this.#lines.probe.shift();
    if (ahead) return ahead.wake();
    const turn = this.#turns++;
    const isTurnOfNew = isSteady ? hasEvenOnes(turn) : turn % 2 === 0;
    const [first, other] = isTurnOfNew
      ? [this.#lines.new, this.#lines.again]
      : [this.#lines.again, this.#lines.new];
    (this.#takeFrom(first) ?? this.#takeFrom(other))?.wake();
  }

  /** The first of a line, or of those that are of another list than the last one was. */
  #takeFrom(line: Waiter[]): Waiter | undefined {
    const at = line.findIndex(({ question }) => question?.list !== this.#lastList);
    const [taken] = line.splice(Math.max(0, at), 1);
    if (taken) this.#lastList = taken.question?.list;
    return taken;
  }
}

/**
 * The sequence of Thue and Morse, which has no period: whether a number has an even count of binary
 * ones. One of each two has.
 */
function hasEvenOnes(number: number): boolean {
  let isEven = true;
  for (let bits = number; bits > 0; bits &= bits - 1) isEven = !isEven;
  return isEven;
}
