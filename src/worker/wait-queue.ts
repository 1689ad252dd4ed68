import { NotAskedError } from './stop-switch.ts';

/** New lookups, those that ask again, and what goes ahead of both. */
export type Waiting = 'new' | 'again' | 'probe';

/** A question that waits, and may be wanted no longer meanwhile. */
interface Wanting {
  isWanted(): boolean;
  /** Of several lists that wait, one after the other has a turn. @default the only list's */
  readonly list?: unknown;
}

/** Callers that wait, in the order in which they came. */
export interface WaitQueue {
  /** The number of waiting callers. */
  readonly length: number;
  /** Whether any of them was let through before. */
  readonly hasAgain: boolean;
  readonly hasProbe: boolean;
  /**
   * Waits until it is this caller's turn: lookups that ask again take turns with new ones.
   *
   * @throws the reason of the signal, when it is aborted before that; at once, when it was already
   */
  wait(signal: AbortSignal, kind: Waiting, question?: Wanting): Promise<void>;
  /** Those go that are not wanted any more. */
  leave(): void;
  /** Wakes the caller that has waited longest, of either kind and of each list in turn. */
  wakeNext(): void;
}

interface Waiter {
  readonly wake: () => void;
  readonly leave: () => void;
  readonly question: Wanting | undefined;
}

export function createWaitQueue(): WaitQueue {
  const lines: Readonly<Record<Waiting, Waiter[]>> = { new: [], again: [], probe: [] };
  let isTurnOfNew = false;
  let lastList: unknown;

  /** The first of a line, or of those that are of another list than the last one was. */
  function takeFrom(line: Waiter[]): Waiter | undefined {
    const at = line.findIndex(({ question }) => question?.list !== lastList);
    const [taken] = line.splice(Math.max(0, at), 1);
    if (taken) lastList = taken.question?.list;
    return taken;
  }

  return {
    get length() {
      return lines.new.length + lines.again.length + lines.probe.length;
    },
    get hasAgain() {
      return lines.again.length > 0;
    },
    get hasProbe() {
      return lines.probe.length > 0;
    },
    wait: (signal, kind, question) =>
      new Promise<void>((resolve, reject) => {
        // A signal tells of its abort once: whoever comes later would wait for ever.
        if (signal.aborted) return reject(signal.reason as Error);
        const line = lines[kind];
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
      }),
    leave: () => {
      for (const line of [lines.new, lines.again]) {
        const left = line.splice(0);
        for (const one of left) {
          if (one.question?.isWanted() === false) one.leave();
          else line.push(one);
        }
      }
    },
    wakeNext: () => {
      const ahead = lines.probe.shift();
      if (ahead) return ahead.wake();
      isTurnOfNew = !isTurnOfNew;
      const [turn, other] = isTurnOfNew ? [lines.new, lines.again] : [lines.again, lines.new];
      (takeFrom(turn) ?? takeFrom(other))?.wake();
    },
  };
}
