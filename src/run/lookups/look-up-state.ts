import { createRecentOutcomes, type RecentOutcomes } from '../../watch/recent-outcomes.ts';
import { createStopSwitch, type StopSwitch } from '../../worker/stop-switch.ts';
import type { LookUpAllOptions } from './look-up-options.ts';
import { createTally, type Tally } from './tally.ts';

/** The progress of a run's lookups. */
export interface LookUpState {
  /** Domains under way. */
  readonly outstanding: Set<string>;
  readonly tally: Tally;
  readonly recent: RecentOutcomes;
  readonly stopSwitch: StopSwitch;
  /** Whether there was no worker at the last check. */
  isAlone: boolean;
  /** Lookups that another run has under way, once only those are left to give out. */
  awaited: number | undefined;
}

export function createLookUpState({ domainRows }: LookUpAllOptions): LookUpState {
  return {
    outstanding: new Set(),
    tally: createTally(domainRows.rowsOf),
    recent: createRecentOutcomes(),
    stopSwitch: createStopSwitch(),
    isAlone: false,
    awaited: undefined,
  };
}
