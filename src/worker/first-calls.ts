import { type Meaning, misdirectionIn } from '../brand/meaning.ts';
import type { StopReason } from '../calls/stops.ts';
import type { Misdirection } from '../common/reasons.ts';
import type { AnswerKind } from './answer-kinds.ts';
import type { Stop } from './stop-switch.ts';

interface FirstCallsOptions {
  readonly first?: number | undefined;
  readonly isOver?: boolean | undefined;
  readonly isKnown?: boolean | undefined;
}

/**
 * The calls until the first good answer: five domains go ahead of all others, and a run stops where
 * they show that its key, its address or its account is wrong.
 *
 * ```text
 *   looking ──a good answer──▶ over
 *     │ five domains alike, or twenty of several kinds
 *     ├──▶ stop   a wrong key, path, wall, or one answer for all
 *     └──▶ down   it fails: that may end
 * ```
 *
 * Before it stops, `diagnosis.ts` asks about a domain that was found before, where one is known.
 *
 * One record may be that of a holding: with records it is over when two differ.
 */
export class FirstCalls {
  isOver: boolean;
  readonly #first: number;
  /** Whether the API answered earlier runs: what fails now is an outage, no wrong address. */
  readonly #isKnown: boolean | undefined;
  readonly #calls = new Map<AnswerKind, Set<object>>();
  readonly #meanings = new Map<AnswerKind, Meaning>();
  readonly #all = new Set<object>();
  /** Calls whose answers are elsewhere. */
  #redirected = 0;
  /** The first records, without what differs from call to call. */
  readonly #records = new Set<string>();
  readonly #found = new Set<object>();
  readonly #domains = new Set<string>();
  /** Whether anything answered at all. */
  #hasAnswered = false;

  /**
   * @param first how many domains go first
   * @param isKnown whether the API answered earlier runs. @default that is not known
   */
  constructor({ first = MANY, isOver = false, isKnown }: FirstCallsOptions) {
    this.#first = first;
    this.isOver = isOver;
    this.#isKnown = isKnown;
  }

  get hasRecord(): boolean {
    return this.#found.size > 0;
  }

  mayStart(inFlight: number): boolean {
    const begun = inFlight + this.#all.size + this.#redirected;
    return this.isOver || inFlight === 0 || begun < Math.max(this.#first, MANY);
  }

  /** Notes a call whose answer is elsewhere, which is asked for next. */
  redirected(): void {
    this.#redirected += 1;
  }

  /**
   * Notes a record. Returns whether it differs from those before, so that the API is seen to work.
   */
  found(meaning: Meaning, call: object): boolean | Stop {
    this.#records.add(withoutNames(meaning.fingerprint));
    this.#all.add(call);
    if (this.#records.size > 1) return true;
    this.#found.add(call);
    return this.#found.size < MANY ? false : stopOf(meaning);
  }

  /** Notes a bad answer. Returns why to stop, or that the API is down, once that is clear. */
  bad(kind: AnswerKind, meaning: Meaning, domain: string, call: object): Stop | 'down' | undefined {
    if (this.#domains.has(domain)) return undefined;
    this.#domains.add(domain);
    const calls = this.#calls.get(kind) ?? new Set();
    this.#calls.set(kind, calls.add(call));
    this.#meanings.set(kind, meaning);
    this.#hasAnswered ||= meaning.form !== 'none';
    this.#all.add(call);
    const isAlike = calls.size === this.#all.size && this.#calls.size === 1;
    const needed = isAlike ? needsOf(meaning, this.#first) : MANY_KINDS;
    if (this.#all.size < needed) return undefined;
    return this.#isStop(meaning) ? this.#mostStop() : 'down';
  }

  /** Why to stop for what came so far: it is no verdict on so few domains. */
  stopOfFew(): Stop | undefined {
    const meaning = [...this.#meanings.values()].find(({ kind }) => kind === 'refused');
    if (!meaning) return undefined;
    const isOne = this.#all.size === 1 && meaning.httpStatus === 403;
    return isOne ? undefined : stopOf(meaning);
  }

  #mostStop(): Stop | 'down' {
    const [most] = [...this.#calls].sort(([, one], [, other]) => other.size - one.size);
    const meaning = most && this.#meanings.get(most[0]);
    return meaning && this.#isStop(meaning) ? stopOf(meaning) : 'down';
  }

  #isStop(meaning: Meaning): boolean {
    if (!FAILS.has(meaning.kind)) return true;
    if (this.#isKnown === true) return false;
    // What was reached before, or may have been, is out where nothing listens.
    const mayBeOut = this.#hasAnswered || this.#isKnown === undefined;
    if (REFUSES.has(meaning.reason) && mayBeOut) return false;
    return misdirectionOf(meaning) !== undefined;
  }
}

/** So many domains that got the same are enough. */
const MANY = 5;
/** And so many that got something bad, but not the same. */
const MANY_KINDS = 20;
const FAILS: ReadonlySet<Meaning['kind']> = new Set(['away', 'machine', 'throttled']);
const PROXY_REFUSES = 'proxy_connection_refused';
const REFUSES: ReadonlySet<string> = new Set(['connection_refused', PROXY_REFUSES]);

/** What is about the caller shows in five, whatever earlier runs found. */
function needsOf(meaning: Meaning, first: number): number {
  const { kind } = meaning;
  if (kind === 'away') return misdirectionOf(meaning) ? Math.min(first, MANY) : MANY;
  // One that is not known is an answer, also where nobody else is asked about.
  if (misdirectionOf(meaning) === 'none_known') return Math.max(first, MANY);
  return kind === 'refused' || kind === 'found' ? MANY : first;
}

/**
 * A record without the domain that was asked, times, identifiers and numbers. One that says nothing
 * else is compared as it is.
 */
function withoutNames(record: string): string {
  const rest = record
    .replaceAll(/"[\w-]*(?:domain|url|website|host|query|input|id)[\w-]*"\s*:\s*"[^"]*"/gi, '')
    .replaceAll(/"\d[\d:.TZ+ -]*"|"[\da-f-]{12,}"/gi, '')
    .replaceAll(/[:[,]\s*-?\d[\d.e+-]*(?=\s*[\]},])/g, '');
  return /\p{L}/u.test(rest) ? rest : record;
}

/** The stop for what all domains get. */
export function stopOf(meaning: Meaning): Stop {
  const { kind, httpStatus, reason: why } = meaning;
  const seen = misdirectionOf(meaning);
  const said = kind === 'found' ? meaning.json : (meaning.said ?? meaning.wrote ?? '');
  const refusal = { httpStatus: httpStatus ?? 0, said, reason: why };
  if (seen) return { reason: 'misdirected', seen, refusal };
  if (kind === 'away' || kind === 'machine') return { reason: 'outage', trouble: why };
  if (kind === 'quota') return { reason: kind, refusal };
  if (meaning.isSure && kind === 'refused') return { reason: 'unauthorized', refusal };
  const isOfCaller = kind === 'refused' && meaning.reason !== 'wall';
  const reason = isOfCaller ? (REASONS[httpStatus ?? 0] ?? 'refused') : 'refused';
  return { reason, refusal };
}

const REASONS: Readonly<Partial<Record<number, StopReason>>> = {
  401: 'unauthorized',
  402: 'quota',
  403: 'forbidden',
};

/** The sign of a wrong address. A path that is wrong gives 404 in JSON, too. */
function misdirectionOf(meaning: Meaning): Misdirection | undefined {
  if (meaning.kind === 'found') return 'same_answer';
  if (meaning.reason === PROXY_REFUSES) return PROXY_REFUSES;
  return meaning.kind === 'not_found' && meaning.form !== 'page'
    ? 'none_known'
    : misdirectionIn(meaning);
}
