import { describeOutage } from '../../guard/outage.ts';
import type { Clock } from '../clock.ts';
import { describePace, type PaceDescription } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { readSharedPace, type SharedPace } from './state.ts';
import type { StoredState } from './stored-state.ts';

/** The pace of others, as of a moment ago. */
export interface SharedPaceWatch {
  /** Undefined until it was read for the first time. */
  describe(): PaceDescription | undefined;
  /** How long no call may start, in milliseconds. */
  waitMs(): number;
  /** What there is to say of an outage, in a sentence; undefined when all is well. */
  describeOutage(): string | undefined;
  close(): void;
}

export interface SharedPaceWatchOptions {
  readonly stored: Pick<StoredState, 'read'>;
  /** That all workers were given, if they were. */
  readonly rate: Rate | undefined;
  readonly clock: Clock;
  /** How often it is read. @default 1000 ms */
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;

/** Looks at the pace that workers elsewhere keep, without a part in it: for who makes no calls itself. */
export function watchSharedPace(options: SharedPaceWatchOptions): SharedPaceWatch {
  const { stored, rate, clock, everyMs = EVERY_MS } = options;
  let known: SharedPace | undefined;
  let aheadMs = 0;
  let isReading = false;

  async function look(): Promise<void> {
    if (isReading) return;
    isReading = true;
    try {
      const { nowMs, state } = await stored.read();
      aheadMs = nowMs - clock.nowMs();
      // Where nobody has made a call yet, nothing is known.
      known = state === undefined ? undefined : readSharedPace(state, { nowMs, rate });
    } catch {
      // Out of reach: it is as it was known last.
    } finally {
      isReading = false;
    }
  }

  const sharedNowMs = (): number => clock.nowMs() + aheadMs;
  const timer = setInterval(() => void look(), everyMs);
  void look();
  return {
    describe: () => known && describePace(known.pace, sharedNowMs()),
    waitMs: () => (known ? describePace(known.pace, sharedNowMs()).waitMs : 0),
    describeOutage: () => known && describeOutage(known.outage, sharedNowMs()),
    close: () => clearInterval(timer),
  };
}
