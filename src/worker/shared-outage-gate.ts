import { setMaxListeners } from 'node:events';
import type { SharedTurnstile } from '../pace/shared/turnstile.ts';
import type { WorkerStanding } from '../queue/lookup-queue.ts';
import { NotAskedError } from './call.ts';
import {
  createOutageGate,
  isCounted,
  type OutageGate,
  type OutageGateOptions,
} from './outage-gate.ts';

/** The gate of a worker that is one of several. */
export interface SharedOutageGate extends OutageGate, WorkerStanding {
  /** Gives up the lookups that wait here, because calls fail here that go well elsewhere. */
  stepBack(): void;
}

export interface SharedOutageGateOptions
  extends Pick<OutageGateOptions, 'clock' | 'callers' | 'maxOutageMs' | 'onTooLong'> {
  /** Fires when the run stops. */
  readonly noNewCall: AbortSignal;
}

/**
 * The circuit breaker of all workers together, and the one of this worker alone.
 *
 * The API is out for all: that is decided where start times are given out, in the shared turnstile.
 * A cause on this machine concerns this worker alone. It steps back: calls that wait are given up,
 * so that their lookups go back to the queue and to other workers. When it is time, it takes one
 * chunk and makes one call, the probe. If that goes well, it comes back to speed in steps.
 */
export function createSharedOutageGate(
  turnstile: SharedTurnstile,
  { noNewCall, ...options }: SharedOutageGateOptions,
): SharedOutageGate {
  const own = createOutageGate(options);
  let stepping = new AbortController();
  let mayCall = anyOf(noNewCall, stepping.signal);
  const isSharedOut = (): boolean => ['open', 'probing'].includes(turnstile.outage.phase);

  function giveUpIfShut(): void {
    if (own.standing() === 'shut') stepping.abort(new NotAskedError());
  }

  return {
    get noNewCall() {
      if (stepping.signal.aborted && own.standing() !== 'shut') {
        stepping = new AbortController();
        mayCall = anyOf(noNewCall, stepping.signal);
      }
      return mayCall;
    },
    tryPass: () => own.tryPass(),
    pass: (signal) => own.pass(signal),
    ended: (verdict) => {
      if (!verdict) return own.ended(undefined);
      const { isEvidence, isOfMachine = false, isShortage, ...call } = verdict;
      const isFailure = isOfMachine || (own.isHere() && call.isFailure);
      const { sentAtMs } = call;
      own.ended({ sentAtMs, isFailure, isRefused: false, isOfMachine, isShortage, isEvidence });
      giveUpIfShut();
      if (isOfMachine) return;
      // During an outage the result of a probe counts, whatever the domain.
      const isLimit = call.isRefused && turnstile.outage.limitBy503.isLimit;
      const isClosed = turnstile.outage.phase === 'closed';
      if (!isLimit && isClosed && !isCounted(verdict)) return;
      turnstile.reportHealth(call);
    },
    get isOut() {
      return own.isOut || isSharedOut();
    },
    get isLimitedBy503() {
      return turnstile.outage.limitBy503.isLimit;
    },
    toldMs: turnstile.toldOutMs,
    describe: () => own.describe() ?? turnstile.describeOutage(),
    stepBack: () => {
      own.stepBack();
      giveUpIfShut();
    },
    describeStepBack: () => (own.isOut ? own.describe() : undefined),
    appetite: () => {
      const standing = own.standing();
      if (standing === 'open') return 'any';
      return standing === 'probe_due' ? 'one_chunk' : 'none';
    },
  };
}

function anyOf(...signals: readonly AbortSignal[]): AbortSignal {
  const any = AbortSignal.any([...signals]);
  // There is one listener per caller; with more than ten, Node.js suspects a leak.
  setMaxListeners(0, any);
  return any;
}
