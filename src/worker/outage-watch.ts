import type { AnswerKind, AnswerKinds } from './answer-kinds.ts';
import type { Counts } from './limit-finder.ts';

/**
 * Whether all calls go wrong: a streak of bad answers that chance does not explain asks for a probe
 * (a domain that was found before), which tells. A half-open circuit breaker whose trial call is
 * known to be good.
 *
 * ```text
 *   well ──an unlikely streak──────▶ suspected ──two probes fail──▶ down
 *    ▲ ▲                                │                           │
 *    │ └─────a good answer, or probe────┘                           │ one call at a time,
 *    └──────────────────────a good answer───────────────────────────┘ less and less often
 * ```
 *
 * While suspected or down, no bad answer is believed.
 */
export class OutageWatch {
  state: 'well' | 'suspected' | 'down' = 'well';
  isProbeWanted = false;
  /** Probes that were made while nothing else was left to tell. */
  idleProbes = 0;
  readonly #kinds: AnswerKinds;
  /** The streak: how many domains got what. */
  readonly #counts = new Map<AnswerKind, number>();
  readonly #domains = new Set<string>();
  #surprise = 0;
  #goods = 0;
  readonly #found: FoundDomain[] = [];
  #next = 0;
  #failedProbes = 0;
  #ofProbe: AnswerKind | undefined;
  readonly #answers: Readonly<Pick<Counts, 'answers'>>;
  /** Answers that had come when all was doubted, or down, for the last time. */
  #since = 0;

  constructor(kinds: AnswerKinds, answers: Readonly<Pick<Counts, 'answers'>>) {
    this.#kinds = kinds;
    this.#answers = answers;
  }

  /** Whether a good answer to a call that began then is no sign that all is well again. */
  isDoubted(answersBefore: number): boolean {
    return this.state !== 'well' && answersBefore < this.#since;
  }

  /** Notes a domain that got a bad answer, which may make the streak unlikely. */
  bad(kind: AnswerKind, domain: string): void {
    if (this.#domains.has(domain)) return;
    this.#domains.add(domain);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#surprise -= Math.log(this.#kinds.usual());
    const isLong = this.#domains.size >= LEAST;
    if (this.state !== 'well' || !isLong || this.#surprise < UNLIKELY) return;
    if (!this.suspect()) this.#fall();
  }

  /** Asks for the probes that tell, if any can be made. Returns whether they can. */
  suspect(): boolean {
    if (!this.askProbe()) return false;
    this.state = 'suspected';
    this.#since = this.#answers.answers;
    this.#failedProbes = 0;
    return true;
  }

  /** The kind that came most, or that a probe got where no new domain was asked. */
  get main(): AnswerKind | undefined {
    const [first] = [...this.#counts].sort(([, one], [, other]) => other - one);
    return first?.[0] ?? this.#ofProbe;
  }

  get kinds(): Iterable<AnswerKind> {
    return this.#counts.keys();
  }

  /** A good answer to a lookup. */
  good(): void {
    this.#goods += 1;
    this.isProbeWanted = false;
    if (this.#domains.size > 0 || this.#goods >= 32) this.#end();
    this.#failedProbes = 0;
  }

  #end(): void {
    if (this.state !== 'down') this.#kinds.noteUsual(this.#goods, this.#counts);
    this.#goods = 0;
    this.clear();
  }

  clear(): void {
    this.state = 'well';
    this.isProbeWanted = false;
    this.#counts.clear();
    this.#domains.clear();
    this.#surprise = 0;
    this.#failedProbes = 0;
    this.#ofProbe = undefined;
  }

  goDown(): void {
    this.#fall();
    this.askProbe();
  }

  #fall(): void {
    this.state = 'down';
    this.#since = this.#answers.answers;
  }

  // ---- probes ----

  /** A domain that may be asked about later. */
  found(domain: string, record: string): void {
    if (this.#found.some((one) => one.domain === domain)) return;
    if (this.#found.length >= MOST_FOUND) this.#found.shift();
    this.#found.push({ domain, record });
  }

  /** Asks for a probe, if one can be made. Returns whether it is asked for. */
  askProbe(): boolean {
    this.isProbeWanted = this.#found.length > 0;
    return this.isProbeWanted;
  }

  /** The same, but a few times at most until something else is known. */
  askProbeWhileIdle(): boolean {
    return this.idleProbes < MOST_IDLE && this.askProbe();
  }

  /** The domain to be asked about next. */
  get nextProbe(): FoundDomain | undefined {
    return this.#found[this.#next % Math.max(1, this.#found.length)];
  }

  /** The next one was answered: after it comes another. */
  moveOn(): void {
    this.#next += 1;
  }

  /** Whether a probe failed, and none was well since. */
  get hasFailedProbe(): boolean {
    return this.#failedProbes > 0;
  }

  /** A probe was answered well: the streak is of domains. */
  probeGood(): void {
    this.#end();
  }

  /** A probe has failed. Returns whether that shows that all is down. */
  probeFailed(kind: AnswerKind): boolean {
    this.#ofProbe = kind;
    if (this.state === 'well') this.idleProbes += 1;
    // What some get by chance, whoever they are, tells less.
    this.#failedProbes += kind.about === 'chance' ? BY_CHANCE : 1;
    if (this.state === 'down' || this.#failedProbes < PROBES) return false;
    this.#fall();
    return true;
  }

  /** No call is left for it. */
  giveUpProbe(): void {
    this.isProbeWanted = false;
    this.idleProbes = MOST_IDLE;
    if (this.state === 'suspected') this.state = 'down';
  }
}

interface FoundDomain {
  readonly domain: string;
  readonly record: string;
}

const LEAST = 5;
/** One to a million. */
const UNLIKELY = Math.log(1e6);
const PROBES = 2;
const BY_CHANCE = 0.5;
const MOST_FOUND = 8;
const MOST_IDLE = 12;
