import type { GateOptions } from './gate-options.ts';
import type { PacedCall, Refusal } from './pace.ts';
import { type Waiting, WaitQueue, type Wanting } from './wait-queue.ts';

interface StartLineEvents {
  /** Before it is looked whether those in line may start. */
  readonly onLook: () => void;
  /** They may not. */
  readonly onHeld: () => void;
}

/**
 * Callers in line, until the pace, the calls in flight and the diagnosis let them start.
 *
 * ```text
 *   in line ──may start──▶ in flight ──▶ ended
 *     │  ▲                                 │
 *     ▼  └────────── look again ◀──────────┘
 *   asleep until the pace allows one, a second at most
 * ```
 */
export class StartLine {
  inFlight = 0;
  readonly #options: GateOptions;
  readonly #events: StartLineEvents;
  readonly #queue = new WaitQueue();
  #startedMs = 0;
  #sleeping: { readonly untilMs: number; readonly stop: AbortController } | undefined;

  constructor(options: GateOptions, events: StartLineEvents) {
    this.#options = options;
    this.#events = events;
  }

  /** Those in line. */
  get length(): number {
    return this.#queue.length;
  }

  /** Whether any of those in line asks again. */
  get hasAgain(): boolean {
    return this.#queue.hasAgain;
  }

  /** Whether a caller resumes so late that it has to wait again. */
  get isLate(): boolean {
    return this.#options.clock.nowMs() - this.#startedMs > TURN_MS;
  }

  /** Starts a call at once, unless others wait or it may not. */
  tryStart(): boolean {
    return this.#queue.length === 0 && this.#start(false);
  }

  /** Waits until a call is started. @throws the reason why no call may start any more */
  async turn(kind: Waiting, question?: Wanting): Promise<void> {
    const turn = this.#queue.wait(this.#options.stopSwitch.noNewCall, kind, question);
    this.letThrough();
    await turn;
  }

  letThrough(): void {
    const { home, clock, pause } = this.#options;
    this.#events.onLook();
    while (this.#queue.length > 0) {
      const isProbe = this.#queue.hasProbe;
      const nowMs = clock.nowMs();
      if (pause?.isPaused) return this.#sleepUntil(nowMs + LOOK_AGAIN_MS);
      if (!this.#start(isProbe)) {
        this.#events.onHeld();
        home.wanted?.(this.#room());
        return this.#sleepUntil(Math.min(this.#nextMs(nowMs, isProbe), nowMs + LOOK_AGAIN_MS));
      }
      this.#queue.wakeNext(home.fixed !== undefined);
    }
  }

  /** A call has ended, or is not made. Others look once all of it is known. */
  ended(how: 'good' | Refusal | 'none', call: PacedCall = NO_CALL): void {
    this.inFlight -= 1;
    this.#options.home.ended(how, call, this.#options.clock.nowMs());
  }

  /** Those go that are not wanted any more. */
  leave(): void {
    this.#queue.leave();
  }

  close(): void {
    this.#sleeping?.stop.abort();
  }

  /** When a call may start; Infinity: not before another has ended. */
  #nextMs(nowMs: number, isProbe: boolean): number {
    const { home, concurrency, diagnosis } = this.#options;
    const { inFlight } = this;
    if (isProbe) return home.nextMs(nowMs, Math.min(inFlight, concurrency - 1));
    const isHeld = inFlight >= concurrency || !diagnosis.mayStart(inFlight);
    return isHeld ? Number.POSITIVE_INFINITY : home.nextMs(nowMs, inFlight);
  }

  /** How many of those in line may start as far as this process is concerned. */
  #room(): number {
    const { length, hasProbe } = this.#queue;
    if (hasProbe) return length;
    let room = 0;
    while (room < length && this.#options.diagnosis.mayStart(this.inFlight + room)) room += 1;
    return room;
  }

  #start(isProbe: boolean): boolean {
    const { home, clock } = this.#options;
    const nowMs = clock.nowMs();
    if (this.#nextMs(nowMs, isProbe) > nowMs) return false;
    home.start(nowMs);
    this.inFlight += 1;
    this.#startedMs = nowMs;
    return true;
  }

  #sleepUntil(untilMs: number): void {
    if (this.#sleeping && this.#sleeping.untilMs <= untilMs + 1) return;
    this.#sleeping?.stop.abort();
    const { clock } = this.#options;
    const mine = { untilMs, stop: new AbortController() };
    this.#sleeping = mine;
    const wake = (): void => {
      this.#sleeping = undefined;
      this.letThrough();
    };
    clock.sleep(Math.max(1, untilMs - clock.nowMs()), mine.stop.signal).then(wake, () => {});
  }
}

/** A call that waits longer for the end of another asks again. */
const LOOK_AGAIN_MS = 1_000;
/** A caller that was let through, and resumes later than this, waits again. */
const TURN_MS = 2_000;
const NO_CALL: PacedCall = { sentAtMs: Number.MAX_VALUE, latencyMs: 0, inFlight: 0 };
