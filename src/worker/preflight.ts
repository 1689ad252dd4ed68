import type { Answer } from '../brand/answer.ts';
import { type Misdirection, misdirectionOf } from '../brand/misdirection.ts';
import { createWaitQueue } from '../common/wait-queue.ts';

/**
 * Lets a few calls go ahead of all others. When all of them give the same sign that the address or
 * the way to it is wrong, no further call is made: five calls are paid for, not fifty thousand. One
 * normal answer lets all calls through.
 */
export interface Preflight {
  /** True once calls need not wait here any more. */
  readonly isOpen: boolean;
  /**
   * Waits until a call may start.
   *
   * @throws the signal's reason when it fires first
   */
  pass(signal: AbortSignal): Promise<void>;
  /**
   * The call that passed has ended.
   *
   * @param answer undefined when the call was given up
   * @param isSign false when a sign of a wrong address may as well be due to the domain. Asked only about
   * such signs: a domain has one, which a redirect on the way to a page must not use up
   */
  ended(answer: Answer | undefined, isSign: () => boolean): void;
  /** Resolves with whether the answers so far can be believed. */
  verdict(): Promise<boolean>;
  /** No lookup is left that could tell more. The answers so far are then believed. */
  idle(): void;
}

const CALLS = 5;
/** Used when the API has answered before: a run with few new domains may have only odd ones. */
export const CALLS_WHERE_ANSWERED = 20;

/**
 * @param onMisdirected called once, with the sign that all of the first calls gave
 * @param calls how many calls go ahead
 */
export function createPreflight(
  onMisdirected: (seen: Misdirection) => void,
  calls: number = CALLS,
): Preflight {
  let isGood: boolean | undefined;
  let underWay = 0;
  let seen: Misdirection | undefined;
  let sightings = 0;
  const waiting = createWaitQueue();
  let resolve: (isGood: boolean) => void = () => {};
  const verdict = new Promise<boolean>((settled) => {
    resolve = settled;
  });

  function settle(good: boolean): void {
    if (isGood !== undefined) return;
    isGood = good;
    resolve(good);
    wakeAll();
  }

  function wakeAll(): void {
    while (waiting.length > 0) waiting.wakeNext();
  }

  function judge(answer: Answer, isSign: () => boolean): void {
    const sign = misdirectionOf(answer);
    if (sign ? !isSign() : NEUTRAL.has(answer.kind)) return;
    if (!sign || (seen && seen !== sign)) return settle(true);
    seen = sign;
    sightings += 1;
    if (sightings < calls) return;
    onMisdirected(sign);
    settle(false);
  }

  return {
    get isOpen() {
      return isGood === true;
    },
    pass: async (signal) => {
      while (isGood === undefined && underWay + sightings >= calls) {
        signal.throwIfAborted();
        await waiting.wait(signal);
      }
      underWay += 1;
    },
    ended: (answer, isSign) => {
      underWay -= 1;
      if (isGood !== undefined) return;
      if (answer) judge(answer, isSign);
      wakeAll();
    },
    verdict: () => verdict,
    idle: () => settle(true),
  };
}

/** Answers that say nothing about the address. Other code deals with them. */
const NEUTRAL: ReadonlySet<Answer['kind']> = new Set([
  'throttled',
  'try_again',
  'pending',
  'unauthorized',
  'forbidden',
  'quota_used_up',
  'redirect',
]);
