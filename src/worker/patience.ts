import type { Meaning } from '../brand/meaning.ts';
import type { Signal } from './diagnosis.ts';
import { stopOf } from './first-calls.ts';
import type { GateOptions } from './gate-options.ts';
import type { Pace } from './pace.ts';
import { stopForWait } from './stop-switch.ts';

/**
 * What goes wrong at present, and for how long it may before the run stops.
 *
 * ```text
 *   well ──a bad answer──▶ failing, or refused ──for --max-outage, or --max-wait──▶ stop
 *    ▲                        │
 *    └──────a good one────────┘
 * ```
 */
export class Patience {
  /** Why calls fail or are refused at present. */
  trouble: string | undefined;
  /** Whether they fail, rather than being refused. */
  isFailing = false;
  readonly #options: GateOptions;
  readonly #openedMs: number;
  /** Domains for which a longer wait was stated than may be waited for. */
  readonly #overlongWaits = new Set<string>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#openedMs = options.clock.nowMs();
  }

  note({ kind, reason }: Meaning & { readonly reason?: string }, signal: Signal): void {
    const isAway = AWAY.has(kind);
    const isRefused = isRefusal(signal);
    this.isFailing = isRefused ? isAway : signal !== 'good' && this.isFailing;
    if (isAway || isRefused) this.trouble = reason;
    else if (signal === 'good') this.trouble = undefined;
    if (signal === 'good') this.#overlongWaits.clear();
  }

  /**
   * How long the API says to wait; stops when that is too long for several domains.
   *
   * @param isLast nobody else waits
   */
  waitOf(meaning: Meaning, domain: string, isLast: boolean): number | undefined {
    const { maxWaitMs, stopSwitch, now } = this.#options;
    const statedMs = meaning.retryAfterMs;
    if (statedMs === undefined || statedMs <= maxWaitMs) return statedMs;
    this.#overlongWaits.add(domain);
    if (this.#overlongWaits.size < 2 && !isLast) return FIRST_STATED_MS;
    const trouble = AWAY.has(meaning.kind) ? meaning.reason : undefined;
    stopSwitch.stop(stopForWait(statedMs, now(), trouble));
    return statedMs; // for the next run
  }

  stopIfTooLong(): void {
    const { clock, diagnosis, stopSwitch, now, pause, maxWaitMs, maxOutageMs } = this.#options;
    const { pace } = this.#options.home;
    if (pace.state !== 'testing' || pause?.isPaused) return;
    // Those who share the pace may have been refused long before this process came.
    const untilMs = triedUntilMs(pace, clock.nowMs());
    const lastedMs = untilMs - Math.max(pace.refusedMs, this.#openedMs);
    if (lastedMs <= (this.isFailing ? maxOutageMs : maxWaitMs)) return;
    const comeBack = pace.isStated
      ? { comeBackAtMs: now() + pace.shutUntilMs - clock.nowMs() }
      : {};
    const all = diagnosis.trouble;
    if (this.isFailing) stopSwitch.stop({ reason: 'outage', trouble: this.trouble });
    else if (all?.isDown) stopSwitch.stop(stopOf(all.meaning));
    else stopSwitch.stop({ reason: 'quota', throttledMs: lastedMs, ...comeBack });
  }
}

/**
 * Until when calls were tried. A test that is long overdue cannot be made: Redis is away, or calls
 * are not wanted.
 */
export const triedUntilMs = ({ refusedMs, lastMs, shutUntilMs }: Pace, nowMs: number): number =>
  Math.min(nowMs, Math.max(refusedMs, lastMs, shutUntilMs) + OVERDUE_MS);
const OVERDUE_MS = 5_000;

/** Whether a signal holds calls up. */
export const isRefusal = (signal: Signal): boolean =>
  signal === 'limit' || signal === 'failing' || signal === 'out';

const AWAY: ReadonlySet<Meaning['kind']> = new Set(['away', 'machine']);
/** A wait that is too long is tried first: it may be stated for one domain alone. */
const FIRST_STATED_MS = 1_000;
