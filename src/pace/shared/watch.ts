import { startHeartbeat } from '../../common/heartbeat.ts';
import { describeOutage } from '../../guard/outage.ts';
import type { Clock } from '../clock.ts';
import { describePace, type PaceDescription } from '../pacer.ts';
import type { Rate } from '../rate.ts';
import { readSharedPace, type SharedPace } from './state.ts';
import type { StoredState } from './stored-state.ts';

/** The pace of all workers, as of a moment ago. */
export interface SharedPaceWatch {
  /** Undefined until the pace was read for the first time. */
  describe(): PaceDescription | undefined;
  /** How long no call may start, in milliseconds. */
  waitMs(): number;
  /** The state of an outage in a sentence; undefined when there is none. */
  describeOutage(): string | undefined;
  /** Reads the pace now. Never throws. */
  look(): Promise<void>;
  close(): void;
}

export interface SharedPaceWatchOptions {
  readonly stored: Pick<StoredState, 'read'>;
  /** The fixed rate of all workers, if they have one. */
  readonly rate: Rate | undefined;
  readonly clock: Clock;
  /** How often the pace is read. @default 1000 ms */
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;

/**
 * Reads the pace that all workers keep, without taking part: what a process learns that makes no
 * calls itself, or none any more.
 */
export function watchSharedPace(options: SharedPaceWatchOptions): SharedPaceWatch {
  const { stored, rate, clock, everyMs = EVERY_MS } = options;
  let known: SharedPace | undefined;
  let aheadMs = 0;

  async function look(): Promise<void> {
    try {
      const { nowMs, state } = await stored.read();
      aheadMs = nowMs - clock.nowMs();
      // No worker has made a call yet, so nothing is known.
      known = state === undefined ? undefined : readSharedPace(state, { nowMs, rate });
    } catch {
      // The state cannot be reached. The last one read is kept.
    }
  }

  const sharedNowMs = (): number => clock.nowMs() + aheadMs;
  const heartbeat = startHeartbeat(everyMs, look);
  return {
    describe: () => known && describePace(known.pace, sharedNowMs()),
    waitMs: () => (known ? describePace(known.pace, sharedNowMs()).waitMs : 0),
    describeOutage: () => known && describeOutage(known.outage, sharedNowMs()),
    look,
    close: heartbeat.close,
  };
}
