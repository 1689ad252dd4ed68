import type { Proxy } from '../brand/connections.ts';
import { aboutOf, sentenceOn } from '../brand/network-error.ts';
import { formatCount, formatDuration, MINUTE_MS } from '../common/format.ts';
import type { HeldBy, Progress, WorkProgress } from './events.ts';
import type { WaitsSummary } from './summary.ts';

/** Why no call starts, in words. The first form is the longest, for where there is room. */
export type WaitWords = readonly [string, ...string[]];

/** A shorter wait is a normal part of the work. */
const SHORTEST_SHOWN_MS = 1_000;

/** Describes what keeps calls from starting; undefined if nothing does. */
export function describeWait(
  progress: WorkProgress & Pick<Progress, 'isPaused' | 'heldBy'>,
): WaitWords | undefined {
  const { isPaused, heldBy, outage, pace, waitMs } = progress;
  if (isPaused) return PAUSED;
  if (heldBy === 'no_worker') return HELD[heldBy];
  if (outage !== undefined) return [outage, 'The API is out', 'API out'];
  const time = formatDuration(waitMs);
  if (pace?.why === 'backing_off') {
    return ['The API throttles calls (429 and the like): backing off', 'throttled: backing off'];
  }
  if (waitMs >= SHORTEST_SHOWN_MS && pace?.why === 'told_to_wait') {
    return [`The API says to wait: calls go on in ${time}`, `told to wait ${time}`, `wait ${time}`];
  }
  if (waitMs >= SHORTEST_SHOWN_MS) {
    return [`Held to the rate: next call in ${time}`, `next call in ${time}`, `next in ${time}`];
  }
  return heldBy && HELD[heldBy];
}

/** `3 pending until 10:42`: the lookups that the API has accepted and has no answer ready for. */
export function describePending(count: number, untilMs = 0): WaitWords | undefined {
  if (count === 0) return undefined;
  const short = `${formatCount(count)} pending`;
  return untilMs > 0 ? [`${short} until ${timeOf(untilMs)}`, short] : [short];
}

/** The time of day by the clock of this machine, rounded up to the minute. */
function timeOf(atMs: number): string {
  const at = new Date(Math.ceil(atMs / MINUTE_MS) * MINUTE_MS);
  const two = (part: number): string => String(part).padStart(2, '0');
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

const PAUSED: WaitWords = ['Paused: no new call starts until it is resumed', 'paused'];

const HELD: Readonly<Record<HeldBy, WaitWords>> = {
  no_worker: ['No worker is there to make the lookups', 'no worker'],
  retry_budget: ['Too many calls fail: retries wait for their turn', 'retries wait'],
  another_run: [
    'Another run asks about what is left: waiting for its answers',
    'waits for another run',
  ],
};

interface OutOptions {
  /** The name of the API. */
  readonly api: string;
  /** The proxy on the way there, if there is one. */
  readonly proxy: Proxy | undefined;
  /** Why the last failed call failed. */
  readonly trouble: string | undefined;
  /** How long the API said to wait, in milliseconds. @default it said nothing */
  readonly statedMs?: number | undefined;
}

/**
 * Says that calls wait because they get no answer, and what to check: the API may not be to blame.
 */
export function describeOut({ api, proxy, trouble, statedMs = 0 }: OutOptions): string {
  const why = trouble === undefined ? '' : ` (${trouble})`;
  if (statedMs > 0) {
    return `The API at ${api} is out${why} and says to come back in ${formatDuration(statedMs)}: no call is made before.`;
  }
  if (proxy && trouble?.startsWith('proxy_')) {
    return `No call gets through the proxy at ${proxy.url.host}${why}: calls wait until one does, up to --max-outage. If none ever did, check ${proxy.variable}.`;
  }
  if (trouble !== undefined && aboutOf(trouble) === 'machine') {
    const want = sentenceOn(trouble) ?? '';
    return `No call to the API at ${api} can be made from here${why}: calls wait until one can, up to --max-outage. ${want}`;
  }
  return `The API at ${api} is out${why}: calls wait until it is back, up to --max-outage. If it never answered, check --base-url${mayWantTls(api, trouble) ? ', which may have to begin with https://' : ''}.${trouble === 'http_503' ? LIMIT_BY_503 : ''}`;
}

/** A gateway may refuse calls that come too fast with 503, while others are still answered. */
const LIMIT_BY_503 =
  ' If it limits calls with 503, as nginx does, that shows when it happens again; --rate spares the wait.';

/** A server that speaks TLS breaks off connections without it. */
function mayWantTls(api: string, trouble: string | undefined): boolean {
  return trouble === 'connection_reset' && api.startsWith('http://');
}

/**
 * What keeps all calls from starting: somebody paused them, the API is out, or it asked to wait (a
 * 429 counts).
 */
export type HoldUp = 'paused' | 'outage' | 'told';

/** For how long calls were held up within a span of time, in milliseconds, by cause. */
export type HeldMs = Readonly<Record<HoldUp, number>>;

/** The part of a run's progress that shows a hold-up. */
export interface Held {
  readonly isPaused?: boolean;
  readonly outage?: string | undefined;
  readonly pace?: { readonly why: string } | undefined;
}

/** Finds what holds calls up now. While somebody has paused them, nothing else is to blame. */
export function findHoldUp({ isPaused = false, outage, pace }: Held): HoldUp | undefined {
  if (isPaused) return 'paused';
  if (outage !== undefined) return 'outage';
  return pace?.why === 'told_to_wait' || pace?.why === 'backing_off' ? 'told' : undefined;
}

/** A shorter hold-up, as a share of its span, cannot be seen in a chart. */
const LEAST_SHARE = 0.2;

/** The hold-up that lasted longest within a span, if it is long enough to be seen. */
export function findLongestHoldUp(heldMs: HeldMs, spanMs: number): HoldUp | undefined {
  const holdUps = ['paused', 'outage', 'told'] as const;
  const longest = holdUps.reduce((one, other) => (heldMs[other] > heldMs[one] ? other : one));
  return heldMs[longest] > 0 && heldMs[longest] >= LEAST_SHARE * spanMs ? longest : undefined;
}

/** Waits that are known only from sampling them again and again. */
export interface WaitSamples {
  /** Counts what holds now as having held since the last sample. */
  look(now: Pick<Progress, 'pace' | 'elapsedMs'> & { readonly isOut: boolean }): void;
  readonly waitedMs: Readonly<Omit<WaitsSummary, 'retryBudget'>>;
}

export function createWaitSamples(): WaitSamples {
  const waitedMs = { told: 0, backingOff: 0, outage: 0 };
  let lookedAtMs = 0;
  return {
    look: ({ pace, elapsedMs, isOut }) => {
      const lastedMs = elapsedMs - lookedAtMs;
      lookedAtMs = elapsedMs;
      if (pace?.why === 'told_to_wait') waitedMs.told += lastedMs;
      if (pace?.why === 'backing_off') waitedMs.backingOff += lastedMs;
      if (isOut) waitedMs.outage += lastedMs;
    },
    waitedMs,
  };
}
