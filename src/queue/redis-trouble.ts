import { setTimeout as delay } from 'node:timers/promises';
import type { OnNotice } from '../common/errors.ts';
import { unlessAborted } from '../common/lifetime.ts';
import { RETRY_MS } from './names.ts';
import type { RedisClient } from './redis-connection.ts';
import { errorText, isReply, reasonOf, VAGUE } from './redis-errors.ts';

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

/** Patience with what Redis refuses for now. */
export interface Patience {
  /**
   * Repeats work that Redis refuses, for as long as it takes.
   *
   * @throws the signal's reason when it fires first. The work under way may still be done.
   */
  readonly insist: <T>(work: () => Promise<T>, signal: AbortSignal) => Promise<T>;
  /**
   * Says why Redis refuses what is tried again: each reason once, until it was not heard for a
   * while.
   */
  readonly refused: (error: unknown) => void;
  /**
   * Why Redis is of no use at present, in a sentence without a full stop; undefined while it is.
   */
  readonly trouble: () => string | undefined;
}

/**
 * Reports once that the server is gone, however many connections notice, once that it is back, and
 * what it refuses. After a failover the name may still lead to the old master: a new connection
 * finds the new one, over which what it refused is sent again.
 */
export function createTroubleWatch(name: string, onTrouble: OnNotice): TroubleWatch {
  const isNew = createNoticeFilter();
  let isGone = false;
  let last = '';
  let refusedAtMs = Number.NEGATIVE_INFINITY;
  const note = (error: unknown): string => {
    last = `Redis at ${name}: ${reasonOf(error).replace(ADVICE, '')}`; // it was right
    return last;
  };
  const tell = (error: unknown): void => onTrouble(`${note(error)}. Trying again until it works.`);
  const refused = (error: unknown): void => {
    // A refused login is an error of the connection.
    if (!isReply(error) || /^(WRONGPASS|NOAUTH)/.test(errorText(error))) return;
    refusedAtMs = performance.now();
    if (isNew(reasonOf(error))) tell(error);
    else note(error);
  };
  return {
    refused,
    trouble: () => (isGone || performance.now() - refusedAtMs < REFUSED_MS ? last : undefined),
    insist: async (work, signal) => {
      for (;;) {
        signal.throwIfAborted();
        try {
          return await unlessAborted(work(), signal); // a Redis that is away does not answer at all
        } catch (error) {
          signal.throwIfAborted();
          refused(error);
          await delay(RETRY_MS, undefined, { signal }).catch(() => {}); // it is thrown next
        }
      }
    },
    reconnectOnError: (error) => {
      if (!error.message.startsWith('READONLY')) return false;
      refused(error);
      return 2;
    },
    watch: (client) => {
      const onError = (error: Error): void => {
        // A connection breaks off first, and what comes when it is made anew says why.
        if (!isGone) tell(error);
        else if (!VAGUE.test(errorText(error))) note(error);
        isGone = true;
      };
      client.on('error', onError);
      // It is waited for until it has loaded its data, which may take minutes.
      client.on('connect', () => {
        const asking = client.info('persistence');
        asking.then(
          (text) => /loading:1/.test(text) && onError(new Error('LOADING')),
          () => {},
        );
      });
      client.on('ready', () => {
        if (isGone) onTrouble(`Redis at ${name} answers again.`, { level: 'info' });
        isGone = false;
      });
    },
  };
}

const ADVICE = /; (start Redis, or give|give|without TLS|try again) .*/;
/**
 * What is refused is tried again within this time, so that it is refused no longer when it has
 * passed.
 */
const REFUSED_MS = 3 * RETRY_MS;

interface TroubleWatch extends Patience {
  readonly reconnectOnError: (error: Error) => 2 | false;
  readonly watch: (client: RedisClient) => void;
}
