import type { Meaning } from '../brand/meaning.ts';
import { ClosedConnectionError } from '../brand/transport.ts';
import type { Permit as BudgetPermit } from '../calls/budget.ts';
import { isUnsent } from '../common/reasons.ts';
import type { Call, Signal } from './diagnosis.ts';
import type { GateOptions } from './gate-options.ts';
import { isRefusal, type Patience } from './patience.ts';
import type { StartLine } from './start-line.ts';
import type { Subject, Verdict } from './withheld.ts';

/** Whom a call turned out to be about, and how many domains that are. */
interface About {
  readonly subject: Subject;
  /** @default 1 */
  readonly domains?: number;
}

/** One call that may start. */
export interface Permit {
  /** The most domains that the call may be about. */
  readonly domains: number;
  /**
   * The call was answered. Tells what becomes of the answer, at once or when others have told
   * more.
   *
   * @param about whom. @default whom it was asked for, one domain
   */
  ended(meaning: Meaning, about?: About): Verdict | Promise<Verdict>;
  /**
   * The same of a call about several domains: the first meaning is that of the call as a whole.
   */
  endedTogether(
    meaning: Meaning,
    each: readonly (readonly [Meaning, Subject])[],
  ): (Verdict | Promise<Verdict>)[];
  /**
   * The call has no answer: it was given up and may well be billed, or its connection was closed
   * already.
   */
  abandoned(why?: unknown): void;
}

/** Those that are told of its end. */
export interface FlightParts extends GateOptions {
  readonly line: StartLine;
  readonly patience: Patience;
}

/** One call in flight: its end tells the budget, the diagnosis, the pace, and those in line. */
export class Flight implements Permit {
  readonly #parts: FlightParts;
  readonly #subject: Subject;
  readonly #spend: BudgetPermit;
  readonly #sentAtMs: number;
  readonly #inFlight: number;
  readonly #call: Call;

  constructor(parts: FlightParts, subject: Subject, spend: BudgetPermit) {
    this.#parts = parts;
    this.#subject = subject;
    this.#spend = spend;
    this.#sentAtMs = parts.clock.nowMs();
    this.#inFlight = parts.line.inFlight;
    this.#call = parts.diagnosis.begin();
    parts.counters.calls += 1;
    spend.begin?.();
  }

  get domains(): number {
    return this.#spend.domains;
  }

  ended(meaning: Meaning, about?: About): Verdict | Promise<Verdict> {
    this.#bill(meaning, about?.domains);
    const subject = about?.subject ?? this.#subject;
    const { signal, verdict } = this.#parts.diagnosis.note(meaning, subject, this.#call);
    this.#learn(meaning, signal);
    return verdict;
  }

  endedTogether(
    meaning: Meaning,
    each: readonly (readonly [Meaning, Subject])[],
  ): (Verdict | Promise<Verdict>)[] {
    this.#bill(meaning, each.length);
    const all = this.#parts.diagnosis.noteTogether(each, this.#subject, this.#call);
    const worst = all.find(({ signal }) => signal === 'limit' || signal === 'failing');
    this.#learn(meaning, (worst ?? all[0])?.signal ?? 'good');
    return all.map(({ verdict }) => verdict);
  }

  probed(meaning: Meaning): void {
    this.#bill(meaning);
    this.#learn(meaning, this.#parts.diagnosis.noteProbe(meaning, this.#call));
  }

  /** The answer is elsewhere, which is asked for next: this one tells nothing. */
  sentElsewhere(meaning: Meaning): void {
    this.#bill(meaning);
    this.#learn(meaning, 'none');
  }

  abandoned(why?: unknown): void {
    const { line } = this.#parts;
    this.#spend.spend(why instanceof ClosedConnectionError ? 0 : undefined);
    line.ended('none', { sentAtMs: this.#sentAtMs, latencyMs: 0, inFlight: 0 });
    line.letThrough();
  }

  /** Tells the budget and the counters. */
  #bill(meaning: Meaning, domains = 1): void {
    const { counters } = this.#parts;
    const { costMicros = 0, kind, form } = meaning;
    counters.billedMicros += costMicros;
    if (form === 'none' && isUnsent(meaning.reason)) counters.unsent += 1;
    if (kind === 'throttled') {
      counters.throttled += 1;
      this.#spend.release(costMicros);
    } else this.#spend.spend(costMicros, domains);
  }

  #learn(meaning: Meaning, signal: Signal): void {
    const { clock, home, diagnosis, line, patience } = this.#parts;
    const { kind, form, limits } = meaning;
    const isRefused = isRefusal(signal);
    // A time beside a verdict on a domain is no wait for all.
    const isVerdict = kind === 'rejected' || kind === 'not_found';
    const isWait = isRefused && !isVerdict;
    const { domain } = this.#subject;
    const retryAfterMs = isWait ? patience.waitOf(meaning, domain, line.length === 0) : undefined;
    patience.note(meaning, signal);
    const isOut = signal === 'out' || kind === 'machine';
    const how = isOut ? 'away' : signal === 'failing' ? 'failing' : 'refused';
    line.ended(isRefused ? how : signal === 'good' ? 'good' : 'none', {
      sentAtMs: this.#sentAtMs,
      latencyMs: form === 'none' ? 0 : clock.nowMs() - this.#sentAtMs,
      inFlight: this.#inFlight,
      limits,
      retryAfterMs,
      reason: isRefused ? meaning.reason : undefined,
    });
    if (isRefused) {
      if (home.isSick) diagnosis.leave();
      else if (signal === 'failing' && !line.hasAgain) diagnosis.askAgain();
      patience.stopIfTooLong();
    }
    line.letThrough();
  }
}
