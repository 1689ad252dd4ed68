import { createRecentOutcomes, type RecentOutcomes } from '../../watch/recent-outcomes.ts';
import { createStopSwitch, type StopSwitch } from '../../worker/stop-switch.ts';
import type { LookUpAllOptions } from './look-up-options.ts';
import { createTally, type Tally } from './tally.ts';

/** How far the lookups of a run are. */
export interface LookUpState {
  /** Domains on their way. */
  readonly outstanding: Set<string>;
  readonly tally: Tally;
  readonly recent: RecentOutcomes;
  readonly stopSwitch: StopSwitch;
  /** Whether nobody was there to make lookups, when somebody looked last. */
  isAlone: boolean;
  /** Lookups that another run has under way, once those are all that is left to be given out. */
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
