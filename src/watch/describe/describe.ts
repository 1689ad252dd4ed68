import { formatDuration } from '../../job/values/duration.ts';
import { formatSize } from '../../job/values/format-size.ts';
import { formatPrice } from '../../job/values/price.ts';
import { shorten } from '../../rows/columns/names.ts';
import type { Stop } from '../../worker/stop-switch.ts';
import type {
  CallsPerSummary,
  LogosSummary,
  PaceSummary,
  Summary,
  WaitsSummary,
} from '../summary.ts';
import { countOf, formatCount } from './format-count.ts';
import { formatRate } from './format-rate.ts';

/** Says why a run stops before all domains were asked, and what to do. */
export function describeStop({ reason, comeBackAtMs, seen, trouble, throttledMs }: Stop): string {
  if (seen) {
    return `${MISDIRECTIONS[seen]} No further call is made, nothing of it is kept, and the outputs stay as they were.`;
  }
  if (trouble !== undefined) return `${STOPS[reason]} The last one ended with: ${trouble}.`;
  const why = throttledMs === undefined ? STOPS[reason] : describeOnlyThrottled(throttledMs);
  if (comeBackAtMs === undefined) {
    return throttledMs === undefined ? why : `${why} It does not say when to come back.`;
  }
  const who = reason === 'max_calls_per' ? 'The next may be made from' : 'It said to come back at';
  const when = new Date(comeBackAtMs).toISOString();
  return `${why} ${who} ${when}${reason === 'max_calls_per' ? ' on' : ''}.`;
}

function describeOnlyThrottled(throttledMs: number): string {
  return `The API has answered nothing but 429 for ${formatDuration(throttledMs)}: the quota seems to be used up. No further call is made.`;
}

const STOPS: Readonly<Record<Stop['reason'], string>> = {
  unauthorized:
    'The API refused the credential (401): check --auth and BRANDFILL_API_KEY. No further call is made.',
  forbidden:
    'The API answered 403 five times in a row: check --auth and what the credential is allowed. No further call is made.',
  quota: 'The quota of the API is used up. No further call is made.',
  outage: 'The API has been out for longer than --max-outage. No further call is made.',
  misdirected: 'The first calls all had the same result. No further call is made.',
  max_failed:
    'More lookups failed than --max-failed allows: look at the reasons in the failures file. No further call is made.',
  max_calls: 'All calls of --max-calls are made. No further call is made.',
  max_calls_per:
    'All calls of --max-calls-per are made, by this run and others together. No further call is made.',
  interrupted:
    'Interrupted: no further call is made, calls in flight get 10 s. Interrupt again to end at once.',
  error: 'Stopped by an error.',
};

/** How the first calls ended, and what to check. */
const MISDIRECTIONS: Readonly<Record<NonNullable<Stop['seen']>, string>> = {
  not_found_page:
    'The first calls were all answered 404 with a page that is no JSON: the path is wrong, check --base-url.',
  not_found_doubled:
    'The first calls were all answered 404, and --base-url ends in /v1, which each call adds by itself: leave it off.',
  bad_request_page:
    'The first calls were all answered 400 with a page that is no JSON: check --base-url, for one its https:// and its port.',
  no_json:
    'The first calls were all answered 200 with something that is no JSON object, such as a page for people: check --base-url, and whether a proxy or a login stands between.',
  redirect_to_another_origin:
    'The first calls were all redirected to another origin: check --base-url, for one its https:// and its host.',
  dns_failure:
    "The first calls failed because the API's name is not known (DNS): check --base-url and the network.",
  tls_failure:
    "The first calls failed because the API's certificate was not accepted, or there is no TLS (then it is http://): check --base-url, the clock, and NODE_EXTRA_CA_CERTS for a certificate authority of your own.",
  proxy_403:
    'The first calls were refused by the proxy (403): ask for the API to be let through, or name it in NO_PROXY.',
  proxy_407:
    'The first calls were refused by the proxy (407): check the user and the password in HTTP_PROXY or HTTPS_PROXY.',
  proxy_dns_failure:
    "The first calls failed because the proxy's name is not known (DNS): check HTTP_PROXY or HTTPS_PROXY.",
  proxy_tls_failure:
    'The first calls failed because of the TLS of the proxy: check the scheme in HTTP_PROXY or HTTPS_PROXY, and NODE_EXTRA_CA_CERTS.',
};

/** The summary for people, in lines. */
export function describeSummary(summary: Summary): readonly string[] {
  const { statuses, rows, elapsedMs } = summary;
  const parts = Object.entries(statuses)
    .filter(([, rowCount]) => rowCount > 0)
    .map(([status, rowCount]) => `${formatCount(rowCount)} ${status.replace('_', ' ')}`);
  const notEnriched = rows - statuses.found;
  const lines = [
    `${countOf(rows, 'row')} in ${formatDuration(elapsedMs)}${parts.length > 0 ? `: ${parts.join(', ')}` : ''}`,
    `${countOf(summary.calls, 'call')} for ${countOf(summary.lookups, 'domain')}, ` +
      `${formatCount(summary.freshDomains)} fresh; ${countOf(summary.retries, 'retry', 'retries')}, ` +
      `${formatCount(summary.throttled)} throttled` +
      (summary.calls > 0 ? `, ${summary.callsPerSecond.toFixed(1)} calls/s` : '') +
      (summary.cost === undefined ? '' : `; cost ${formatPrice(summary.cost)}`),
  ];
  if (summary.pace) lines.push(describePace(summary.pace));
  if (summary.callsPer) lines.push(describeCallsPer(summary.callsPer));
  if (summary.out !== undefined)
    lines.push(`  rows      ${summary.out === '-' ? 'standard output' : summary.out}`);
  if (summary.failures !== undefined) {
    const { failures, failuresSheet: sheet } = summary;
    const place = sheet === undefined ? failures : `sheet '${sheet}' of it`;
    lines.push(`  failures  ${place} (${countOf(notEnriched, 'row')})`);
  }
  if (summary.filled) {
    const cells = Object.entries(summary.filled).map(
      ([name, cells]) => `${shorten(name)} ${formatCount(cells)}`,
    );
    lines.push(`  filled    ${cells.join(', ')}`);
  }
  if (summary.logos) lines.push(`  logos     ${describeLogos(summary.logos)}`);
  if (summary.changes) {
    const { file, new: added, changed } = summary.changes;
    lines.push(`  changes   ${file} (${formatCount(added)} new, ${formatCount(changed)} changed)`);
  }
  for (const report of summary.reports ?? []) lines.push(`  report    ${report}`);
  lines.push(`  store     ${summary.store.folder} (${formatSize(summary.store.sizeBytes)})`);
  if (summary.stopped) {
    lines.push(`Stopped early. ${describeGoingOn(summary.stopped)}`);
  } else if (statuses.skipped > 0) {
    lines.push(`${describePruned(statuses.skipped)} Run the same command again.`);
  }
  return lines;
}

/** `3 rows were skipped: …`, for a run that was not stopped. */
export function describePruned(rows: number): string {
  const were =
    rows === 1 ? 'row was skipped: its outcome was' : 'rows were skipped: their outcomes were';
  return `${formatCount(rows)} ${were} removed from the store while the run went on.`;
}

/** How to continue a run that was stopped. */
export function describeGoingOn({ reason, comeBackAtMs }: Stop): string {
  if (reason === 'misdirected') return 'Once that is fixed, run the same command again.';
  const when = comeBackAtMs === undefined ? '' : ` after ${new Date(comeBackAtMs).toISOString()}`;
  return `What was found is kept: run the same command again${when} to go on.`;
}

/** `Calls: 640 of 1,000/day used, 360 left until 2026-11-22T00:00:00.000Z`. */
function describeCallsPer({ count, unit, used, left, endsAtMs }: CallsPerSummary): string {
  const until = new Date(endsAtMs).toISOString();
  return `Calls: ${formatCount(used)} of ${formatCount(count)}/${unit} used, ${formatCount(left)} left until ${until}`;
}

/** `pictures (31 saved, 2 kept, 3 missing: 2 http_404, 1 timeout)`. */
function describeLogos({ folder, saved, kept, missing, reasons }: LogosSummary): string {
  const why = Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${formatCount(count)} ${reason}`);
  const parts = [
    `${formatCount(saved)} saved`,
    `${formatCount(kept)} kept`,
    `${formatCount(missing)} missing${missing > 0 ? `: ${why.join(', ')}` : ''}`,
  ];
  return `${folder} (${parts.join(', ')})`;
}

/** `Pace: limit about 50/s; 0.4 % of the calls answered 429; waited 12 s as told, 3 s backing off`. */
function describePace({ mostAtOnce, throttledShare, waitedMs, ...pace }: PaceSummary): string {
  const limits = [describeLimit(pace), mostAtOnce !== undefined && `at most ${mostAtOnce} at once`];
  const waits = Object.entries(WAITS)
    .map(([why, words]) => ({ ms: waitedMs[why as keyof WaitsSummary], words }))
    .filter(({ ms }) => ms >= SHORTEST_TOLD_MS)
    .map(({ ms, words }) => `${formatDuration(ms)} ${words}`);
  const parts = [
    limits.filter((limit) => limit !== false).join(', ') || 'no limit met',
    ...(throttledShare > 0 ? [`${formatShare(throttledShare)} of the calls answered 429`] : []),
    ...(waits.length > 0 ? [`waited ${waits.join(', ')}`] : []),
  ];
  return `Pace: ${parts.join('; ')}`;
}

function describeLimit({
  limitIs,
  limitPerSecond = 0,
}: Pick<PaceSummary, 'limitIs' | 'limitPerSecond'>): string | false {
  switch (limitIs) {
    case 'fixed':
      return `held to ${formatRate(limitPerSecond)}`;
    case 'published':
      return `limit about ${formatRate(limitPerSecond)}, as the API says`;
    case 'learned':
      return `limit about ${formatRate(limitPerSecond)}`;
    case 'unknown':
      return false;
  }
}

/** A shorter wait goes unnoticed and is not mentioned. */
const SHORTEST_TOLD_MS = 100;

const WAITS: Readonly<Record<keyof WaitsSummary, string>> = {
  told: 'as told',
  backingOff: 'backing off',
  outage: 'for an outage',
  retryBudget: 'for the retry budget',
};

/** `12 %`, `0.4 %`, `0.02 %`. */
function formatShare(share: number): string {
  return `${(share * 100).toLocaleString('en-US', { maximumSignificantDigits: share < 0.01 ? 1 : 2 })} %`;
}
