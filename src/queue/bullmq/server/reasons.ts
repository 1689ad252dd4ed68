import { BrandfillError } from '../../../common/errors.ts';

/** These say that there is a reason, but not which. */
export const VAGUE: RegExp =
  /Connection is closed|None of startup nodes|Failed to refresh slots|All sentinels are unreachable|timed out/;

const REASONS: readonly (readonly [sign: RegExp, reason: string])[] = [
  [/sentinel.*(NOAUTH|WRONGPASS)/, 'its sentinels want a password, and must not'],
  [/No such master|sentinel.*invalid reply/, 'its sentinels know no master of that name'],
  [/sentinel.*unknown command/, 'what answers there is no sentinel'],
  // Had one been out of reach, its error would stand behind this.
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

/** Of what a script may not do, Redis 7.0 says so without a code. */
const RIGHTS = /NOPERM|user executing the script/;
/** What it names: "… has no permissions to run the 'get' command", "… can't access at least one of the keys". */
const RIGHT = /(?:no permissions to|script can't) (.+?)(?: script: |$)/i;

/** All that Redis 7.0 says of a command in a script. */
const UNNAMED = 'this command or subcommand';

/** What an error of Redis or of its connection means, as a part of a sentence: without a full stop. */
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

/** What a Redis may be: one server, one that Sentinels name, or several. */
export type RedisKind = 'single' | 'sentinels' | 'cluster';

/** A server that is not there, as the system tells it; Sentinels that are not there are told otherwise. */
const AWAY =
  /^(?!.*sentinel).*(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENOENT|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|Socket timeout)/is;

/** Why a connection is lost that was there before, and what is done: the address was right. */
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
 * What was thrown amid work over Redis: a refusal that has a known reason as an error that says so, all
 * else as it is.
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

/** What an error says, or the one that it is about. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('lastNodeError' in error && error.lastNodeError) return errorText(error.lastNodeError);
  // Of a transaction it is only said that it was discarded.
  if ('previousErrors' in error && Array.isArray(error.previousErrors)) {
    const [first] = error.previousErrors as readonly unknown[];
    if (first !== undefined) return errorText(first);
  }
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code} ` : '';
  return `${code}${error.message}`;
}
