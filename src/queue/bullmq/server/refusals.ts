import { setTimeout as delay } from 'node:timers/promises';
import { BrandfillError } from '../../../common/errors.ts';
import { unlessAborted } from '../../../common/lifetime.ts';

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
      if (!isReply(error) || LOGIN.test(String(error))) return false;
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

/** Errors that say that something is wrong, but not what. */
export const VAGUE: RegExp =
  /Connection is closed|None of startup nodes|Failed to refresh slots|All sentinels are unreachable|timed out/;

const REASONS: readonly (readonly [sign: RegExp, reason: string])[] = [
  [
    /sentinel.*(NOAUTH|WRONGPASS)/,
    'its sentinels want a password, or another one, which ?sentinelPassword= at the end of the URL gives',
  ],
  [/No such master|sentinel.*invalid reply/, 'its sentinels know no master of that name'],
  [/sentinel.*unknown command/, 'what answers there is no sentinel'],
  // If a sentinel could not be reached, its error would follow here.
  [/All sentinels.*after \d+ms\.$/, 'its sentinels name no master that answers'],
  [/connect to sentinel|All sentinels/, 'none of its sentinels can be reached'],
  [/ECONNREFUSED/, 'nobody listens there; start Redis, or give another --queue'],
  [/ENOTFOUND|EAI_AGAIN/, 'there is no host of that name; give another --queue'],
  [/ENOENT/, 'there is no such socket; start Redis, or give another --queue'],
  [
    /certificate|self.signed/i,
    'its certificate is not trusted; name its CA in NODE_EXTRA_CA_CERTS',
  ],
  [/SSL|TLS|EPROTO/i, 'TLS could not be agreed on'],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timed out/i, 'it cannot be reached, or does not answer'],
  [/NOAUTH/, 'it wants a password; give redis://:PASSWORD@host or redis://USER:PASSWORD@host'],
  [/WRONGPASS|invalid password|invalid username/i, 'it refuses the user or the password'],
  [/READONLY/, 'it is a read-only replica; give the address of its master'],
  [/LOADING/, 'it is still loading its data; try again in a moment'],
  [/OOM/, 'it is out of memory; raise maxmemory'],
  [/NOREPLICAS/, 'too few replicas follow it for it to be written to; see min-replicas-to-write'],
  [/MISCONF/, 'it cannot write its data to the disk and therefore refuses to work'],
  [/CLUSTERDOWN/, 'its cluster is not complete: some slots are served by no node'],
  [
    /WRONGTYPE/,
    "a key of the queue is of another kind: a job was added with one of BullMQ's own names for its id, such as wait or delayed, or another program writes there",
  ],
  [/MOVED|CROSSSLOT/, 'it is a node of a cluster; give redis-cluster:// instead of redis://'],
  [/cluster support disabled/, 'it is not in a cluster; give redis:// instead of redis-cluster://'],
  [/DB index is out of range/, 'it has no database of that number'],
  [/Protocol error|RESP type|unknown command/i, 'what answers there is no Redis for a queue'],
  [/max number of clients/i, 'it has no room for another client; raise maxclients'],
  [/Connection is closed|ECONNRESET|EPIPE|socket/i, 'the connection broke off'],
  [/Failed to refresh slots|startup nodes/i, 'none of the nodes of the cluster can be reached'],
];

/** The lack of a right. For commands in scripts, Redis 7.0 reports it without a code. */
const RIGHTS = /NOPERM|user executing the script/;
/**
 * The right that the error names: "… has no permissions to run the 'get' command", "… can't access
 * at least one of the keys".
 */
const RIGHT = /(?:no permissions to|script can't) (.+?)(?: script: |$)/i;

/** All that Redis 7.0 says about a command in a script. */
const UNNAMED = 'this command or subcommand';

/** The meaning of an error of Redis or of its connection, as part of a sentence: without a full stop. */
export function reasonOf(error: unknown): string {
  const text = errorText(error);
  return (
    knownReason(text) ??
    text
      .replaceAll(/\s+/g, ' ')
      .slice(0, 200)
      .replace(/[ .]+$/, '')
  );
}

/** The kind of a Redis: one server, one that Sentinels name, or several. */
export type RedisKind = 'single' | 'sentinels' | 'cluster';

/**
 * System errors of a server that cannot be reached. Sentinels that cannot be reached give other
 * errors.
 */
const AWAY =
  /^(?!.*sentinel).*(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|Socket timeout)/is;

/** Why an established connection was lost, and what is done. Its address was right. */
export function describeLoss(error: unknown, kind: RedisKind): string {
  const isAway = AWAY.test(errorText(error));
  if (isAway && kind === 'sentinels') {
    return 'its master is away. Going on with the one that its sentinels name, as soon as that answers';
  }
  const reason =
    isAway && kind === 'cluster'
      ? 'none of its nodes answers for the cluster'
      : reasonOf(error).replace(/;[^;]* give another --queue$/, '');
  return `${reason}. Trying again until it answers`;
}

/**
 * Converts an error thrown during work over Redis. A refusal with a known reason becomes an error
 * that states it. Other errors are returned unchanged.
 */
export function toQueueError(error: unknown): unknown {
  const reason = isReply(error) ? knownReason(errorText(error)) : undefined;
  if (reason === undefined) return error;
  const message = `Cannot go on with the queue on Redis: ${reason}.`;
  return new BrandfillError('UNUSABLE_QUEUE', message, { cause: error });
}

function knownReason(text: string): string | undefined {
  if (RIGHTS.test(text)) return describeRight(RIGHT.exec(text)?.[1]);
  return REASONS.find(([sign]) => sign.test(text))?.[1];
}

function describeRight(right: string | undefined): string {
  const named = right === undefined ? '' : ` (${right.replace(UNNAMED, 'a command of a script')})`;
  return `its user may not do what a queue needs${named}; allow it ~{brandfill}* &* +@all -@admin -@dangerous +info`;
}

function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** The text of an error, or of the error that caused it. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('lastNodeError' in error && error.lastNodeError) return errorText(error.lastNodeError);
  // The error of a transaction itself says only that it was discarded.
  if ('previousErrors' in error && Array.isArray(error.previousErrors)) {
    const [first] = error.previousErrors as readonly unknown[];
    if (first !== undefined) return errorText(first);
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : '';
  return `${code}${error.message}`;
}
