import { findProxy } from '../brand/proxy.ts';
import type { Closable } from '../common/closer.ts';
import type { OnNotice } from '../common/notice.ts';
import { formatDuration } from '../job/values/duration.ts';
import { describeOut } from '../watch/describe/describe-out.ts';
import type { StopSwitch } from '../worker/stop-switch.ts';
import type { LocalWorker } from './local-worker.ts';

export interface ApiWatchOptions {
  readonly worker: Pick<LocalWorker, 'turnstile' | 'describeOutage' | 'lastTrouble'>;
  /** Scheme, host and port of the API. */
  readonly origin: string;
  readonly stopSwitch: StopSwitch;
  /** The longest wait that the API may ask for. Told to wait longer, the worker stops. */
  readonly maxWaitMs: number;
  readonly onNotice: OnNotice;
}

const LOOK_MS = 1_000;
/** Shorter waits are part of the work. */
const WORTH_TELLING_MS = 5_000;
/** After how long an outage is told of again: each time twice as long. */
const FIRST_TOLD_AGAIN_MS = 15_000;
const LONGEST_TOLD_AGAIN_MS = 600_000;

/**
 * Says when calls stop because of the API, and when they go on. What keeps them may have been told to
 * another worker: also a wait that is longer than this one may wait.
 */
export function watchApi(options: ApiWatchOptions): Closable {
  const { worker, origin, stopSwitch, maxWaitMs, onNotice } = options;
  let isTold = false;
  let tellAgainMs = FIRST_TOLD_AGAIN_MS;
  let tellAtMs: number | undefined;

  /** An outage is told of again and again, but ever more seldom: what it said first is soon out of date. */
  function lookForOutage(): void {
    const outage = worker.describeOutage();
    const nowMs = performance.now();
    if (outage === undefined) {
      if (tellAtMs !== undefined) onNotice('The API answers again.', { level: 'info' });
      tellAtMs = undefined;
      tellAgainMs = FIRST_TOLD_AGAIN_MS;
    } else if (tellAtMs === undefined || nowMs >= tellAtMs) {
      onNotice(tellAtMs === undefined ? describeBeginning() : outage);
      tellAtMs = nowMs + tellAgainMs;
      tellAgainMs = Math.min(2 * tellAgainMs, LONGEST_TOLD_AGAIN_MS);
    }
  }

  /** With the address: where no call was ever answered, it is the first thing to check. */
  function describeBeginning(): string {
    return describeOut({ api: origin, proxy: findProxy(origin), trouble: worker.lastTrouble() });
  }

  function look(): void {
    if (stopSwitch.stopped) return;
    lookForOutage();
    const { why, waitMs } = worker.turnstile.describe();
    const toldMs = why === 'told_to_wait' ? waitMs : 0;
    if (toldMs > maxWaitMs) {
      stopSwitch.stop({ reason: 'quota', comeBackAtMs: Date.now() + toldMs });
    } else if (toldMs > WORTH_TELLING_MS && !isTold) {
      onNotice(`The API says to wait; no call is made for ${formatDuration(toldMs)}.`);
    }
    isTold = toldMs > 0;
  }

  const timer = setInterval(look, LOOK_MS);
  return { close: async () => clearInterval(timer) };
}
