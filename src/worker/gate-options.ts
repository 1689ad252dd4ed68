import type { Meaning } from '../brand/meaning.ts';
import type { Budget } from '../calls/budget.ts';
import type { CallCounters } from '../calls/outcome.ts';
import type { Clock } from './clock.ts';
import type { Diagnosis } from './diagnosis.ts';
import type { PaceHome } from './own-pace.ts';
import type { StopSwitch } from './stop-switch.ts';

/** What a gate and its parts need. */
export interface GateOptions {
  readonly home: PaceHome;
  readonly clock: Clock;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Calls that may be in flight at once. */
  readonly concurrency: number;
  readonly diagnosis: Pick<Diagnosis, keyof Diagnosis>;
  /**
   * Asks about a domain that was found before, to see whether the API is well.
   *
   * @param path where it was sent. @default that of the domain
   */
  readonly probe: (domain: string, path?: string) => Promise<Meaning>;
  readonly budget: Budget;
  readonly stopSwitch: StopSwitch;
  readonly counters: CallCounters;
  /** How long calls may be refused, and how long the API may be out, before the run stops. */
  readonly maxWaitMs: number;
  readonly maxOutageMs: number;
  /** Holds calls back while the run is paused. @default never */
  readonly pause?: PauseGate | undefined;
}

/** Lets no call start while it is closed. */
export interface PauseGate {
  readonly isPaused: boolean;
  /** @throws the signal's reason when it fires first */
  whileOpen(signal: AbortSignal): Promise<void>;
}
