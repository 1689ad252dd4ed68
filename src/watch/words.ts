import { formatDuration } from '../common/format.ts';
import type { StatusCounts, Wait } from './run-view.ts';

// The words for statuses, stops and phases, said once for terminal, log, page and report. Reasons
// of rows stand in `reasons.ts`, which the page does not load.

export function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export type StatusName = keyof StatusCounts;

/** What became of a row: its name, what that means, and how good it is. */
export const STATUSES: Readonly<
  Record<StatusName, { readonly name: string; readonly means: string; readonly tone: Tone }>
> = {
  found: { name: 'found', means: 'enriched', tone: 'good' },
  stale: { name: 'stale', means: 'not learned this time; an older answer stays', tone: 'warning' },
  fresh: { name: 'known before', means: 'needs no call', tone: 'good' },
  not_found: { name: 'not found', means: 'the API does not know the domain', tone: 'quiet' },
  rejected: { name: 'rejected', means: 'the API refused the domain', tone: 'bad' },
  failed: { name: 'failed', means: 'no usable answer, however often it was tried', tone: 'bad' },
  pending: { name: 'pending', means: 'accepted by the API, no answer ready yet', tone: 'warning' },
  invalid: { name: 'invalid', means: 'no domain in the row; nothing was asked', tone: 'quiet' },
  skipped: { name: 'skipped', means: 'not asked; the run stopped first', tone: 'quiet' },
};

type Tone = 'good' | 'quiet' | 'warning' | 'bad';

export const PHASES = {
  reading: 'Reading the list',
  looking_up: 'Looking up',
  saving_logos: 'Saving logos',
  stopping: 'Stopping',
  writing: 'Writing the files',
  ended: 'Ended',
  lost: 'Broken off',
} as const;

/** How a run ended; its first sentence begins so. */
export const ENDINGS = {
  done: 'Done',
  some_failed: 'Done',
  nothing_found: 'Done, but nothing was found',
  stopped: 'Stopped early',
  interrupted: 'Stopped on request',
  error: 'Ended with an error',
} as const;

/**
 * What is seen of calls that fail, by the reason.
 *
 * @default an answer's status, or the reason itself
 */
const SEEN: Readonly<Record<string, string>> = {
  http_401: 'it refuses the key, 401',
  connection_refused: 'nothing listens there',
  connection_reset: 'connections are broken off',
  dns_failure: 'its name is not known',
  dns_unavailable: 'names cannot be looked up here',
  no_route: 'there is no network here',
  network_error: 'no connection',
  timeout: 'no answer in time',
  tls_failure: 'its certificate or its TLS is not accepted',
};

/** What is seen of calls that fail, in a few words: `nothing listens there`, `it answers 503`. */
export function seenOf(reason: string): string {
  const [, status] = /^http_(\d+)$/.exec(reason) ?? [];
  return SEEN[reason] ?? (status ? `it answers ${status}` : reason.replaceAll('_', ' '));
}

/** What keeps calls from starting. */
export function describeWait({ why, leftMs = 0, text = '', sinceMs = 0 }: Wait): string {
  const seen = text === '' ? '' : ` (${seenOf(text)})`;
  const next =
    leftMs > 0
      ? `next try in ${formatDuration(Math.ceil(leftMs / 1_000) * 1_000)}`
      : 'trying it now';
  const since = `since ${new Date(sinceMs).toTimeString().slice(0, 5)}`;
  return {
    paused: 'Paused: no new call starts until it goes on',
    no_worker: text,
    queue: text,
    redis: text,
    outage: `The API has been out ${since}${seen}; ${next}`,
    backing_off: `The API has refused every call ${since}${seen}; ${next}`,
    stated: `The API says to wait: calls go on in ${formatDuration(leftMs)}`,
    rate: `Held to the rate: next call in ${formatDuration(leftMs)}`,
    pending: `Only pending domains are left: all are asked again within ${formatDuration(leftMs)}`,
  }[why];
}

/** How a run goes on of which nothing else is known. */
export const GO_ON = 'What was found is kept: run the same command again to go on.';
