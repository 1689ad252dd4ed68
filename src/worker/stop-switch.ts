import { setMaxListeners } from 'node:events';
import { isCapped } from '../calls/rate.ts';
import type { StopReason } from '../calls/stops.ts';
import type { Misdirection, Reason } from '../common/reasons.ts';

export interface Stop {
  readonly reason: StopReason;
  /** Which of several APIs it is about. */
  readonly source?: string;
  /** When to run again, in milliseconds since 1970, if that is known. */
  readonly comeBackAtMs?: number;
  /** How long nothing but 429 came, in milliseconds, for a `quota` that only this shows. */
  readonly throttledMs?: number;
  /** Why the last call failed, for `outage`. */
  readonly trouble?: string | undefined;
  /** The sign that the first calls gave, for `misdirected`. */
  readonly seen?: Misdirection;
  /** Why the store cannot be written, in a sentence, for `unusable_store`. */
  readonly storeError?: string;
  /** What the API answered, where it is known. */
  readonly refusal?: Refusal;
  /** Why no credential went with the calls that were refused. */
  readonly unsent?: 'kept' | 'none' | undefined;
}

/** An answer that different domains got alike. */
export interface Refusal {
  readonly httpStatus: number;
  /** What its body says, for people; empty when it says nothing. */
  readonly said: string;
  readonly reason: Reason;
}

/**
 * The stop for a wait that is too long. Says when to come back if the API named that time itself.
 *
 * @param statedMs how long the API said to wait, if it did
 * @param trouble why the call failed, where it was an API that is out which said so
 */
export function stopForWait(statedMs: number | undefined, nowMs: number, trouble?: Reason): Stop {
  const isKnown = statedMs !== undefined && !isCapped(statedMs);
  return {
    reason: trouble === undefined ? 'quota' : 'outage',
    ...(isKnown ? { comeBackAtMs: nowMs + statedMs } : {}),
    ...(trouble === undefined ? {} : { trouble }),
  };
}

/** Stops a run in two steps: first no new call starts, then calls under way are given up. */
export interface StopSwitch {
  /** Why the run was stopped. The first reason is kept. */
  readonly stopped: Stop | undefined;
  /** Fires when no new call may start. */
  readonly noNewCall: AbortSignal;
  /** Fires when calls under way are given up. */
  readonly noCall: AbortSignal;
  stop(stop: Stop): void;
  /** Stops, and gives up the calls under way. */
  giveUp(stop: Stop): void;
}

export function createStopSwitch(): StopSwitch {
  const noNewCall = new AbortController();
  const noCall = new AbortController();
  // There is one listener per caller; with more than ten, Node.js suspects a leak.
  setMaxListeners(0, noNewCall.signal, noCall.signal);
  let stopped: Stop | undefined;

  function stop(next: Stop): void {
    stopped ??= next;
    noNewCall.abort();
  }

  return {
    get stopped() {
      return stopped;
    },
    noNewCall: noNewCall.signal,
    noCall: noCall.signal,
    stop,
    giveUp: (next) => {
      stop(next);
      noCall.abort();
    },
  };
}

/**
 * The switch of a worker that helps other runs too: it stops with its own run, and leaves when that
 * is done.
 */
export interface HelperSwitch extends StopSwitch {
  /** No new call starts here. The run goes on, or is done. */
  leave(): void;
}

export function createHelperSwitch(run: StopSwitch): HelperSwitch {
  const own = createStopSwitch();
  const leave = (): void => own.stop(run.stopped ?? { reason: 'interrupted' });
  const giveUp = (): void => own.giveUp(run.stopped ?? { reason: 'interrupted' });
  run.noNewCall.addEventListener('abort', leave);
  run.noCall.addEventListener('abort', giveUp);
  return {
    get stopped() {
      return own.stopped;
    },
    noNewCall: own.noNewCall,
    noCall: own.noCall,
    // What is found out after it has left is not the run's.
    stop: (stop) => {
      if (!own.stopped) run.stop(stop);
    },
    giveUp: (stop) => run.giveUp(stop),
    leave,
  };
}

/** The run stopped before there was an answer. */
export class NotAskedError extends Error {
  override readonly name = 'NotAskedError';
}
