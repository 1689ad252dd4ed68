import type { FinderOptions } from './limit-finder.ts';
import type { OutageWatch } from './outage-watch.ts';
import type { Stop } from './stop-switch.ts';

interface FirstStopOptions {
  readonly home: Pick<FinderOptions['home'], 'others'>;
  readonly nowMs: () => number;
  readonly stop: (why: Stop) => void;
}

/**
 * What the first calls got may be no reason to stop: a domain tells better that earlier runs have
 * found, or others who share the pace, who may have begun at the same moment.
 *
 * ```text
 *   open ──a stop is likely──▶ is a domain known? ──yes──▶ likely ──its probes fail──▶ stop
 *    ▲                           │ no         ▲              │
 *    │                           ▼            │ found        │
 *    │       are others there? ─yes─▶ grace ──┘              │
 *    │                           │ no  │  └─────3 s──────────────▶ stop
 *    │                           ▼     │                     │
 *    │                         stop    │                     │
 *    └────────a domain is well─────────┴─────────────────────┘
 * ```
 */
export class FirstStop {
  /** What the first calls say, unless a probe is well. */
  likely: Stop | undefined;
  readonly #options: FirstStopOptions;
  readonly #outage: OutageWatch;
  #grace: { readonly why: Stop; readonly untilMs: number } | undefined;

  constructor(outage: OutageWatch, options: FirstStopOptions) {
    this.#outage = outage;
    this.#options = options;
  }

  /** Whether others are given the time to find a domain. */
  get isInGrace(): boolean {
    return this.#grace !== undefined;
  }

  /** Stops, unless somebody may know better. */
  suggest(why: Stop): void {
    if (this.likely) return;
    this.hearFound();
    if (this.#outage.suspect()) {
      this.likely = why;
      this.#grace = undefined;
      return;
    }
    const { home, nowMs, stop } = this.#options;
    const isOver = this.#grace !== undefined && nowMs() >= this.#grace.untilMs;
    if (!home.others?.areThere || isOver) stop(why);
    else this.#grace ??= { why, untilMs: nowMs() + GRACE_MS };
  }

  /** What others have found may have changed, or no time is left for them. */
  hearOthers(): void {
    if (this.#grace) this.suggest(this.#grace.why);
  }

  /** What others found of late may be asked about, too. */
  hearFound(): void {
    const found = this.#options.home.others?.found;
    if (found !== undefined) this.#outage.found(found, '');
  }

  /** A domain is well, or all are down: there is no reason to stop. */
  clear(): void {
    this.likely = undefined;
    this.#grace = undefined;
  }
}

/** Others who began at the same moment get so long to find a domain. */
const GRACE_MS = 3_000;
