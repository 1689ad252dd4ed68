import { findProxy } from '../brand/proxy.ts';
import type { OnNotice } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import type { Closable } from '../common/lifetime.ts';
import { aboutOf, sentenceOn } from '../common/reasons.ts';
import { seenOf } from '../watch/words.ts';
import type { Gate } from '../worker/gate.ts';
import type { PaceDescription } from '../worker/pace-memory.ts';

export interface ApiWatchOptions {
  readonly gate: Pick<Gate, 'describe'>;
  /** Scheme, host and port of the API. */
  readonly origin: string;
  /** The longest wait that the API may ask for. */
  readonly maxWaitMs: number;
  readonly onNotice: OnNotice;
}

const POLL_MS = 1_000;
/** Nothing but refusals for this long is told. */
const REFUSED_REPORTED_MS = 30_000;
/** Shorter waits are not reported. */
const SHORTEST_REPORTED_MS = 5_000;
/** A wait is reported that is longer than the last one reported by more than this factor. */
const LONGER_BY = 2;

/** Reports when calls stop because of the API, and when they go on. The gate decides. */
export function watchApi(options: ApiWatchOptions): Closable {
  const { gate, origin, maxWaitMs, onNotice } = options;
  let reportedWaitMs = 0;
  let isOutReported = false;
  let isRefusalReported = false;

  function lookForOutage(now: PaceDescription): void {
    const { isOut = false } = now.failing ?? {};
    if (isOut === isOutReported) return;
    isOutReported = isOut;
    if (isOut) onNotice(describeOut(origin, now));
    else onNotice('The API answers again.', { level: 'info' });
  }

  function look(): void {
    const now = gate.describe();
    lookForOutage(now);
    const { waitMs, statedMs = 0, failing } = now;
    const { isOut = false, lastedMs = 0, reason } = failing ?? {};
    const refusedMs = isOut ? 0 : lastedMs;
    if (refusedMs === 0 && isRefusalReported) {
      onNotice('The API accepts calls again.', { level: 'info' });
      isRefusalReported = false;
    }
    if (!isOut && statedMs > Math.max(SHORTEST_REPORTED_MS, LONGER_BY * reportedWaitMs)) {
      onNotice(`The API says to wait; no call is made for ${formatDuration(statedMs)}.`);
      reportedWaitMs = statedMs;
    } else if (waitMs === 0) reportedWaitMs = 0;
    if (refusedMs < Math.min(REFUSED_REPORTED_MS, maxWaitMs / 2) || isRefusalReported) return;
    isRefusalReported = true;
    const seen = reason === undefined ? '' : ` (${seenOf(reason)})`;
    const until = statedMs > 0 ? '' : ' and does not say until when';
    const cause =
      aboutOf(reason ?? '') === 'caller' ? ' Perhaps the key or its plan has ended.' : '';
    onNotice(
      `The API has refused every call for ${formatDuration(refusedMs)}${seen}${until}.${cause} After ${formatDuration(maxWaitMs)} of that (option 'maxWait') the run stops.`,
    );
  }

  const timer = setInterval(look, POLL_MS);
  return {
    close: async () => {
      clearInterval(timer);
      if (isOutReported) lookForOutage(gate.describe()); // its end may be news
    },
  };
}

/**
 * Says that calls wait because they get no answer, and what to check: the API may not be to blame.
 * Its address is the first thing.
 */
function describeOut(api: string, { failing, statedMs = 0 }: PaceDescription): string {
  const proxy = findProxy(api);
  const trouble = failing?.reason;
  const why = trouble === undefined ? '' : ` (${seenOf(trouble)})`;
  if (statedMs > 0) {
    return `The API at ${api} is out${why} and says to come back in ${formatDuration(statedMs)}: no call is made before.`;
  }
  if (proxy && trouble?.startsWith('proxy_')) {
    return `No call gets through the proxy at ${proxy.url.host}${why}: calls wait until one does, up to option 'maxOutage'. If none ever did, check ${proxy.variable}.`;
  }
  if (trouble !== undefined && aboutOf(trouble) === 'machine') {
    return `No call gets through to the API at ${api}${why}: calls wait until one does, up to option 'maxOutage'. ${sentenceOn(trouble)}`;
  }
  return `The API at ${api} is out${why}: calls wait until it is back, up to option 'maxOutage'. If it never answered, check option 'baseUrl'${mayWantTls(api, trouble) ? ', which may have to begin with https://' : ''}.`;
}

/** A server that speaks TLS breaks off connections without it. */
function mayWantTls(api: string, trouble: string | undefined): boolean {
  return trouble === 'connection_reset' && api.startsWith('http://');
}
