import type { Closable } from './common/closer.ts';
import type { OnNotice } from './common/notice.ts';
import { formatDuration } from './job/values/duration.ts';
import type { LocalWorker } from './local-worker.ts';
import type { StopSwitch } from './worker/stop-switch.ts';

export interface ApiWatchOptions {
  readonly worker: Pick<LocalWorker, 'turnstile' | 'describeOutage'>;
  readonly stopSwitch: StopSwitch;
  /** The longest wait that the API may ask for. Told to wait longer, the worker stops. */
  readonly maxWaitMs: number;
  readonly onNotice: OnNotice;
}

const LOOK_MS = 1_000;
/** Shorter waits are part of the work. */
const WORTH_TELLING_MS = 5_000;

/**
 * Says when calls stop because of the API, and when they go on. What keeps them may have been told to
 * another worker: also a wait that is longer than this one may wait.
 */
export function watchApi({ worker, stopSwitch, maxWaitMs, onNotice }: ApiWatchOptions): Closable {
  let isOut = false;
  let isTold = false;

  function look(): void {
    if (stopSwitch.stopped) return;
    const outage = worker.describeOutage();
    if (outage !== undefined && !isOut) onNotice(outage);
    if (outage === undefined && isOut) onNotice('The API answers again.', { level: 'info' });
    isOut = outage !== undefined;
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
