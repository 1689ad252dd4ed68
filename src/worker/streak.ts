import type { AnswerKind, AnswerKinds } from './answer-kinds.ts';

/**
 * Whether all calls go wrong: a row of bad answers that chance does not explain asks for a probe (a domain that was
 * found before), which tells. A half-open circuit breaker whose trial call is known to be good.
 *
 * ```text
 *   well ──a row that is unlikely──▶ suspected ──two probes fail──▶ down
 *    ▲ ▲                                │                           │
 *    │ └─────a good answer, or probe────┘                           │ one call at a time,
 *    └──────────────────────a good answer───────────────────────────┘ less and less often
 * ```
 *
 * While suspected or down, no bad answer is believed.
 */
export class Streak {
  state: 'well' | 'suspected' | 'down' = 'well';
  readonly #kinds: AnswerKinds;
  readonly #counts = new Map<AnswerKind, number>();
  readonly #domains = new Set<string>();
  #surprise = 0;
  #goods = 0;
  #failedProbes = 0;

  constructor(kinds: AnswerKinds) {
    this.#kinds = kinds;
  }

  /** Notes a domain that got a bad answer. Returns whether that makes the row unlikely. */
  bad(kind: AnswerKind, domain: string): boolean {
    if (this.#domains.has(domain)) return false;
    this.#domains.add(domain);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
    this.#surprise -= Math.log(this.#kinds.usual());
    const isLong = this.#domains.size >= LEAST;
    if (this.state !== 'well' || !isLong || this.#surprise < UNLIKELY) return false;
    this.state = 'suspected';
    this.#failedProbes = 0;
    return true;
  }

  /** The kind that came most. */
  get main(): AnswerKind | undefined {
    const [first] = [...this.#counts].sort(([, one], [, other]) => other - one);
    return first?.[0];
  }

  get kinds(): Iterable<AnswerKind> {
    return this.#counts.keys();
  }

  /** A good answer to a lookup. */
  good(): void {
    this.#goods += 1;
    if (this.#domains.size > 0 || this.#goods >= 32) this.#end();
    this.#failedProbes = 0;
  }

  /** A probe was answered well: the row is of domains. */
  probeGood(): void {
    this.#end();
  }

  #end(): void {
    if (this.state !== 'down') this.#kinds.noteUsual(this.#goods, this.#counts);
    this.#goods = 0;
    this.clear();
  }

  clear(): void {
    this.state = 'well';
    this.#counts.clear();
    this.#domains.clear();
    this.#surprise = 0;
    this.#failedProbes = 0;
  }

  /** A probe has failed. Returns whether all is down. */
  probeFailed(): boolean {
    this.#failedProbes += 1;
    if (this.state === 'down' || this.#failedProbes < PROBES) return false;
    this.state = 'down';
    return true;
  }

  down(): void {
    this.state = 'down';
  }
}

const LEAST = 5;
/** One to a million. */
const UNLIKELY = Math.log(1e6);
const PROBES = 2;
