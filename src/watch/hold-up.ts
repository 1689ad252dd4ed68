/** What keeps all calls from starting: somebody paused them, the API is out, or it told to wait (a 429 counts). */
export type HoldUp = 'paused' | 'outage' | 'told';

/** For how long calls were held up within a span of time, in milliseconds, by what did it. */
export type HeldMs = Readonly<Record<HoldUp, number>>;

/** What of the progress of a run tells it. */
export interface Held {
  readonly isPaused?: boolean;
  readonly outage?: string | undefined;
  readonly pace?: { readonly why: string } | undefined;
}

/** Says what holds calls up now. While somebody has paused them, nothing else is to blame. */
export function findHoldUp({ isPaused = false, outage, pace }: Held): HoldUp | undefined {
  if (isPaused) return 'paused';
  if (outage !== undefined) return 'outage';
  return pace?.why === 'told_to_wait' || pace?.why === 'backing_off' ? 'told' : undefined;
}

/** What is shorter, as a share of its span, cannot be seen in a chart. */
const LEAST_SHARE = 0.2;

/** What held calls up for longest within a span, where that can be seen. */
export function findLongestHoldUp(heldMs: HeldMs, spanMs: number): HoldUp | undefined {
  const holdUps = ['paused', 'outage', 'told'] as const;
  const longest = holdUps.reduce((one, other) => (heldMs[other] > heldMs[one] ? other : one));
  return heldMs[longest] > 0 && heldMs[longest] >= LEAST_SHARE * spanMs ? longest : undefined;
}
