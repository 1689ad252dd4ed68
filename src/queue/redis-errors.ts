import { BrandfillError } from '../common/errors.ts';

/** Errors that say that something is wrong, but not what. */
export const VAGUE: RegExp =
  /Connection is closed|None of startup nodes|Failed to refresh slots|All sentinels are unreachable|timed out|no answer/;

const REASONS: readonly (readonly [sign: RegExp, reason: string])[] = [
  [
    /sentinel.*(NOAUTH|WRONGPASS)/,
    'its sentinels want a password, or another one, which ?sentinelPassword= at the end of the URL gives',
  ],
  [/No such master|sentinel.*invalid reply/, 'its sentinels know no master of that name'],
  [/sentinel/i, 'none of its sentinels can be reached, or names a master that answers'],
  [/ECONNREFUSED|ENOENT/, "nobody listens there; start Redis, or give another option 'queue'"],
  [/ENOTFOUND|EAI_AGAIN/, "there is no host of that name; give another option 'queue'"],
  [
    /certificate|self.signed/i,
    'its certificate is not trusted; name its CA in NODE_EXTRA_CA_CERTS',
  ],
  [/TLS is wanted/, 'it wants TLS; with TLS its URL is rediss://'],
  [/disconnected before/, 'it breaks off connections'],
  [/SSL|TLS|EPROTO/i, 'TLS could not be agreed on; without TLS its URL is redis://'],
  [/ETIMEDOUT|EHOSTUNREACH|ENETUNREACH/, "it cannot be reached; give another option 'queue'"],
  [
    /timed out|socket timeout|no answer/i,
    'it does not answer: it may be frozen, or have too much to do',
  ],
  [
    /max number of clients/,
    'it has as many clients as its maxclients allows; raise that, or end some',
  ],
  [/NOAUTH/, 'it wants a password; give redis://:PASSWORD@host or redis://USER:PASSWORD@host'],
  [/WRONGPASS|invalid password|invalid username/i, 'it refuses the user or the password'],
  [/READONLY/, 'it is a read-only replica; give the address of its master'],
  [/LOADING/, 'it is still loading its data; try again in a moment'],
  [/OOM/, 'it is out of memory; raise maxmemory'],
  [/NOREPLICAS/, 'too few replicas follow it for it to be written to; see min-replicas-to-write'],
  [/MISCONF/, 'it cannot write its data to the disk and therefore refuses to work'],
  [
    /CLUSTERDOWN|startup nodes|refresh slots|MOVED|CROSSSLOT|cluster support/,
    'its cluster is not complete, or it is none: give redis-cluster:// for a cluster, redis:// for one server',
  ],
  [/DB index is out of range/, 'it has no database of that number'],
  [/Protocol error|RESP type|unknown command/i, 'what answers there is no Redis for a queue'],
  [/Connection is closed|ECONNRESET|EPIPE|socket/i, 'it breaks off connections'],
];

/** The lack of a right. For commands in scripts, Redis 7.0 reports it without a code. */
const RIGHTS = /NOPERM|user executing the script/;
/** The right that the error names: "… has no permissions to run the 'get' command". */
const RIGHT = /(?:no permissions to|script can't) (.+?)(?: script: |$)/i;

/**
 * The meaning of an error of Redis or of its connection, as part of a sentence: without a full
 * stop.
 */
export function reasonOf(error: unknown): string {
  const text = errorText(error);
  return (
    knownReason(text) ??
    text
      .replaceAll(/\s+/g, ' ')
      .slice(0, 200)
      .replace(/(?<![ .])[ .]+$/, '')
  );
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
  if (!RIGHTS.test(text)) return REASONS.find(([sign]) => sign.test(text))?.[1];
  const [, right] = RIGHT.exec(text) ?? [];
  const named = right === undefined ? '' : ` (${right})`;
  return `its user may not do what a queue needs${named}; allow it ~{brandfill}* &* +@all -@admin -@dangerous +info`;
}

export function isReply(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

/** What the signs of errors are looked for in. */
const MOST_OF_ERROR = 1_000;

/** The beginning of the text of an error, or of the error that caused it. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('lastNodeError' in error && error.lastNodeError) return errorText(error.lastNodeError);
  // The error of a transaction itself says only that it was discarded.
  if ('previousErrors' in error && Array.isArray(error.previousErrors)) {
    const [first] = error.previousErrors as readonly unknown[];
    if (first !== undefined) return errorText(first);
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : '';
  return `${code}${error.message.slice(0, MOST_OF_ERROR)}`;
}
