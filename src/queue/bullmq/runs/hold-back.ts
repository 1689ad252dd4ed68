import { setTimeout as delay } from 'node:timers/promises';
import type { Pausable } from '../../lookup-queue.ts';
import type { RedisClient } from '../server/redis.ts';
import { markPaused, unmarkPaused } from './paused-runs.ts';
import type { RunLedger } from './run-ledger.ts';

export interface HoldBackOptions {
  readonly client: RedisClient;
  readonly ledger: Pick<RunLedger, 'runId'>;
  readonly control: Pausable;
  /**
   * Takes all chunks that no worker has begun off the queue. Returns the domains that are left of
   * them.
   */
  readonly withdraw: () => Promise<readonly (readonly string[])[]>;
  /** Puts domains on the queue. */
  readonly give: (domains: readonly string[]) => Promise<void>;
  /** Filters domains that are on no queue and at no worker: returns those to be asked again now. */
  readonly retake: (domains: readonly string[]) => readonly string[];
  /** Called with domains that will not be asked, because the run was stopped meanwhile. */
  readonly drop: (domains: readonly string[]) => void;
  /** Fires when the run is stopped. */
  readonly signal: AbortSignal;
  /** How often to check what workers have given back, in milliseconds. @default 500 */
  readonly lookMs?: number;
}

/** Keeps the lookups of a run from workers while it is paused. */
export interface HoldBack {
  /** Whether the run is paused, or chunks that were held back are not on the queue again yet. */
  readonly isHolding: boolean;
  close(): Promise<void>;
}

const POLL_MS = 500;

/**
 * While a run is paused, workers start no call for it and give back what they have not begun. All
 * its chunks are taken off the queue, so that workers have room for other runs.
 */
export function holdBackWhilePaused(options: HoldBackOptions): HoldBack {
  const {
    client,
    ledger,
    control,
    withdraw,
    give,
    retake,
    drop,
    signal,
    lookMs = POLL_MS,
  } = options;
  const { runId } = ledger;
  let holding: Promise<void> | undefined;
  let held: (readonly string[])[] = [];
  let isClosed = false;

  async function hold(): Promise<void> {
    while (control.isPaused && !signal.aborted && !isClosed) {
      try {
        await markPaused(client, runId);
        held.push(...(await withdraw()));
      } catch {
        // Redis is away, so workers make no calls either. The next look will do.
      }
      await waitForLook();
    }
    // Workers must start no call for a run that is stopping either.
    if (!signal.aborted) await unmarkPaused(client, runId).catch(() => {}); // it expires by itself
    while (held.length > 0 && !signal.aborted && !control.isPaused) {
      const [first = [], ...rest] = held;
      const due = retake(first);
      if (due.length > 0) await give(due).catch(() => {}); // fails only when all is given up
      held = rest;
    }
    if (signal.aborted) {
      for (const domains of held) drop(domains);
      held = [];
    }
  }

  /** Waits without leaving listeners behind: a pause may last for days. */
  async function waitForLook(): Promise<void> {
    const over = new AbortController();
    const stopListening = control.onChange(() => over.abort());
    await delay(lookMs, undefined, { signal: over.signal }).catch(() => {});
    stopListening();
  }

  function start(): void {
    if (holding || isClosed || !control.isPaused || signal.aborted) return;
    holding = hold().finally(() => {
      holding = undefined;
      start();
    });
  }

  const stopListening = control.onChange(start);
  start();
  return {
    get isHolding() {
      return holding !== undefined;
    },
    close: async () => {
      isClosed = true;
      stopListening();
      await holding;
    },
  };
}
