/**
 * Domains that were found before: asking about one of them again, a probe, tells whether the API is well.
 */
export class Probes {
  readonly #found: FoundDomain[] = [];
  #next = 0;
  isWanted = false;
  /** Those that were made while nothing else was left to tell. */
  idle = 0;

  note(domain: string, record: string): void {
    if (this.#found.length >= MOST) this.#found.shift();
    this.#found.push({ domain, record });
  }

  /** Asks for one, if that can be. Returns whether it is asked for. */
  ask(): boolean {
    this.isWanted = this.#found.length > 0;
    return this.isWanted;
  }

  /** The same, but a few times at most until something else is known. */
  askWhileIdle(): boolean {
    return this.idle < MOST_IDLE && this.ask();
  }

  /** The domain to be asked about next. */
  get next(): FoundDomain | undefined {
    return this.#found[this.#next % Math.max(1, this.#found.length)];
  }

  /** The next one was answered: after it comes another. */
  moveOn(): void {
    this.#next += 1;
  }
}

interface FoundDomain {
  readonly domain: string;
  readonly record: string;
}

const MOST = 8;
const MOST_IDLE = 12;
