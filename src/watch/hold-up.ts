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
