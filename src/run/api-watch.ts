import { findProxy } from '../brand/connections.ts';
import type { OnNotice } from '../common/errors.ts';
import { formatDuration } from '../common/format.ts';
import { type Closable, within } from '../common/lifetime.ts';
import type { SharedPaceWatch } from '../pace/shared/state.ts';
import { describeOut } from '../watch/waits.ts';
import { type StopSwitch, stopForWait } from '../worker/stop-switch.ts';
import type { LocalWorker } from './local-worker.ts';

export interface ApiWatchOptions {
  readonly worker: Pick<LocalWorker, 'limiter' | 'describeOutage' | 'lastTrouble' | 'statedOutMs'>;
  /** Scheme, host and port of the API. */
  readonly origin: string;
  readonly stopSwitch: StopSwitch;
  /** The longest wait that the API may ask for. When it asks for longer, the worker stops. */
  readonly maxWaitMs: number;
  readonly onNotice: OnNotice;
}

const POLL_MS = 1_000;
/** Nothing but 429 for this long is part of finding a limit, whatever the longest wait. */
const LEAST_THROTTLED_MS = 2_000;
/** Nothing but 429 for this long is told. */
const THROTTLED_REPORTED_MS = 30_000;
/** Shorter waits are not reported. */
const SHORTEST_REPORTED_MS = 5_000;
/**
 * When the API says to wait again and again, a wait is reported that is longer than the last one reported by
 * more than this factor.
 */
const LONGER_BY = 2;
/** When an outage is reported again. The interval doubles each time. */
const FIRST_REPEATED_MS = 15_000;
const LONGEST_REPEATED_MS = 600_000;

/**
 * Reports when calls stop because of the API, and when they go on. The reason may have been stated
 * to another worker, including a wait that is longer than this worker may wait.
 */
export function watchApi(options: ApiWatchOptions): Closable {
  const { worker, origin, stopSwitch, maxWaitMs, onNotice } = options;
  /** The wait that was reported last; 0 when calls may start. */
  let reportedWaitMs = 0;
  let repeatAfterMs = FIRST_REPEATED_MS;
  const { look: lookAtLimits } = createLimitLook(options);
  let reportAtMs: number | undefined;

  /** Reports an outage repeatedly, but ever more seldom, because a report is soon out of date. */
  function lookForOutage(): void {
    const outage = worker.describeOutage();
    const nowMs = performance.now();
    if (outage === undefined) {
      if (reportAtMs !== undefined) onNotice('The API answers again.', { level: 'info' });
      reportAtMs = undefined;
      repeatAfterMs = FIRST_REPEATED_MS;
    } else if (reportAtMs === undefined || nowMs >= reportAtMs) {
      onNotice(reportAtMs === undefined ? describeBeginning() : outage);
      reportAtMs = nowMs + repeatAfterMs;
      repeatAfterMs = Math.min(2 * repeatAfterMs, LONGEST_REPEATED_MS);
    }
  }

  /** Names the address: if no call was ever answered, it is the first thing to check. */
  function describeBeginning(): string {
    return describeOut({
      api: origin,
      proxy: findProxy(origin),
      trouble: worker.lastTrouble(),
      statedMs: worker.statedOutMs(),
    });
  }

  function look(): void {
    if (stopSwitch.stopped) return;
    lookForOutage();
    lookAtLimits();
    const { why, waitMs, statedMs } = worker.limiter.describe();
    const statedOutMs = worker.statedOutMs();
    const longestMs = Math.max(why === 'told_to_wait' ? waitMs : 0, statedOutMs);
    if (longestMs > maxWaitMs) {
      stopSwitch.stop(stopForWait(statedOutMs > 0 ? statedOutMs : statedMs, Date.now()));
    } else if (
      longestMs > statedOutMs &&
      longestMs > Math.max(SHORTEST_REPORTED_MS, LONGER_BY * reportedWaitMs)
    ) {
      onNotice(`The API says to wait; no call is made for ${formatDuration(longestMs)}.`);
      reportedWaitMs = longestMs;
    } else if (longestMs === 0) reportedWaitMs = 0;
  }

  const timer = setInterval(look, POLL_MS);
  return { close: async () => clearInterval(timer) };
}

export type LimitWatchOptions = Pick<ApiWatchOptions, 'stopSwitch' | 'maxWaitMs' | 'onNotice'> & {
  readonly worker: Pick<LocalWorker, 'limiter'>;
  /** The pace that this worker keeps with others, which may make all calls. @default none */
  readonly shared?: Pick<SharedPaceWatch, 'describe' | 'look' | 'close'> | undefined;
};

/** The last look at the pace of all workers must not hold up the end of a run for longer. */
const LAST_LOOK_MS = 1_000;

/**
 * Stops a run when nothing but 429 has come for longer than it may wait, and reports what the API
 * leaves unsaid about its limits.
 */
export function watchLimits(options: LimitWatchOptions): Closable {
  const { shared } = options;
  const { look, reportIgnored } = createLimitLook(options);
  const timer = setInterval(look, POLL_MS);
  return {
    close: async () => {
      clearInterval(timer);
      // A run may end within a second of finding out.
      if (shared) await within(LAST_LOOK_MS, shared.look());
      shared?.close();
      reportIgnored();
    },
  };
}

function createLimitLook(options: LimitWatchOptions): LimitLook {
  const { worker, shared, stopSwitch, maxWaitMs, onNotice } = options;
  const longestMs = Math.max(LEAST_THROTTLED_MS, maxWaitMs);
  const reportFromMs = Math.min(THROTTLED_REPORTED_MS, longestMs / 2);
  let isThrottleReported = false;
  let isIgnoringReported = false;

  function reportIgnored(): void {
    // A worker without callers learns nothing of what the others find out.
    const isIgnored = [worker.limiter, shared].some((pace) => pace?.describe()?.ignoresUsedUp);
    if (isIgnoringReported || !isIgnored) return;
    isIgnoringReported = true;
    onNotice(IGNORES_USED_UP);
  }

  function look(): void {
    if (stopSwitch.stopped) return;
    reportIgnored();
    const { why, waitMs, onlyThrottledMs = 0 } = worker.limiter.describe();
    if (onlyThrottledMs === 0) {
      if (isThrottleReported) onNotice('The API accepts calls again.', { level: 'info' });
      isThrottleReported = false;
    }
    const isStated = why === 'told_to_wait';
    // While the gate is open, the next answer decides, which may be the first for this worker.
    if (waitMs === 0 || !(isStated || why === 'backing_off')) return;
    const isReported = isStated && waitMs > SHORTEST_REPORTED_MS;
    if (onlyThrottledMs > longestMs) {
      const comeBack = isStated ? { comeBackAtMs: Date.now() + waitMs } : {};
      stopSwitch.stop({ reason: 'quota', throttledMs: onlyThrottledMs, ...comeBack });
    } else if (onlyThrottledMs >= reportFromMs && !isThrottleReported && !isReported) {
      isThrottleReported = true;
      onNotice(describeOnlyThrottled(onlyThrottledMs, { longestMs, isStated }));
    }
  }

  return { look, reportIgnored };
}

interface LimitLook {
  readonly look: () => void;
  /** Reports, once, that headers of the API are no longer waited for. */
  readonly reportIgnored: () => void;
}

const IGNORES_USED_UP =
  "The rate limit headers of the API's answers say that no calls are left, yet calls are answered: they are no longer waited for. A refusal for the moment still is.";

function describeOnlyThrottled(
  lastedMs: number,
  { longestMs, isStated }: { readonly longestMs: number; readonly isStated: boolean },
): string {
  const silence = isStated ? '' : ' and does not say until when';
  return `The API has throttled every call for ${formatDuration(lastedMs)}${silence}. After ${formatDuration(longestMs)} of that (--max-wait), the quota counts as used up.`;
}
