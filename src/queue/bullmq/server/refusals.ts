import { setTimeout as delay } from 'node:timers/promises';
import { ReplyError } from 'ioredis';
import { unlessAborted } from '../../../common/lifetime.ts';
import { reasonOf } from './reasons.ts';

/** Reports why Redis refuses commands in the background, where no caller waits for them. */
export interface Refusals {
  /**
   * Reports a refusal, unless it was reported a moment ago. Errors of the connection are reported
   * elsewhere.
   *
   * @returns whether Redis refused something
   */
  readonly tell: (error: unknown) => boolean;
}

/** A refused login is reported with its connection. */
const LOGIN = /^ReplyError: (WRONGPASS|NOAUTH)/;

/** @param who the part that needs what is refused, for the message */
export function createRefusals(onNotice: (message: string) => void, who = 'a worker'): Refusals {
  const isNew = createNoticeFilter();
  return {
    tell: (error) => {
      if (!(error instanceof ReplyError) || LOGIN.test(String(error))) return false;
      const reason = reasonOf(error);
      if (isNew(reason)) onNotice(`Redis refuses what ${who} needs: ${reason}. Trying again.`);
      return true;
    },
  };
}

/** A message that was not repeated for this long is over. It is news when it comes again. */
const OVER_MS = 30_000;

/**
 * Tells new messages from those that were reported a moment ago. Retries repeat the same message,
 * often alternating with others, and may succeed in between.
 *
 * @returns whether the message is news
 */
export function createNoticeFilter(): (what: string) => boolean {
  const lastAtMs = new Map<string, number>();
  return (what) => {
    const now = performance.now();
    const isNew = now - (lastAtMs.get(what) ?? Number.NEGATIVE_INFINITY) > OVER_MS;
    lastAtMs.set(what, now);
    return isNew;
  };
}

/** Repeats work that Redis refuses for now, for as long as it takes. */
interface Retrier {
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
