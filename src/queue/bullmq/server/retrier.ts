import { setTimeout as delay } from 'node:timers/promises';
import { unlessAborted } from '../../../common/unless-aborted.ts';
import { createNoticeFilter } from './notice-filter.ts';
import { reasonOf } from './reasons.ts';

/** Repeats work that Redis refuses for now, for as long as it takes. */
export interface Retrier {
  /** @throws the signal's reason when it fires first. The work under way may still be done. */
  retryUntilAborted(work: () => Promise<void>, signal: AbortSignal): Promise<void>;
}

const FIRST_MS = 200;
const LONGEST_MS = 5_000;

/** @param onNotice called with the reason for the wait, once per reason */
export function createRetrier(onNotice: (message: string) => void): Retrier {
  const isNew = createNoticeFilter();
  return {
    retryUntilAborted: async (work, signal) => {
      for (let waitMs = FIRST_MS; ; waitMs = Math.min(waitMs * 2, LONGEST_MS)) {
        signal.throwIfAborted();
        try {
          // A Redis that is away does not answer at all.
          await unlessAborted(work(), signal);
          return;
        } catch (error) {
          signal.throwIfAborted();
          const reason = reasonOf(error);
          if (isNew(reason)) onNotice(`Redis refuses to take lookups: ${reason}. Trying again.`);
          await delay(waitMs, undefined, { signal }).catch(() => {}); // it is thrown next
        }
      }
    },
  };
}
