import { setTimeout as delay } from 'node:timers/promises';
import { startHeartbeat } from '../../../common/owner.ts';
import type { Pausable } from '../../lookup-queue.ts';
import { PREFIX } from '../names.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunLedger } from './run-ledger.ts';

/** Which runs make no calls at present, as workers see it. */
export interface PausedRuns {
  /** Checks whether a run is paused, and keeps checking until it is let go. */
  watch(runId: string): Promise<void>;
  unwatch(runId: string): void;
  /** Whether a watched run is paused, as of a moment ago. */
  has(runId: string): boolean;
  close(): void;
}

const POLL_MS = 300;
/** A process that paused a run and was lost holds the run up no longer than this. */
const KEPT_MS = 5_000;

/** Marks a run as paused for a few seconds. */
export async function markPaused(client: RedisClient, runId: string): Promise<void> {
  await client.set(pausedKey(runId), '1', 'PX', KEPT_MS);
}

/** Removes the mark. */
export async function unmarkPaused(client: RedisClient, runId: string): Promise<void> {
  await client.del(pausedKey(runId));
}

/**
 * Makes workers give back lookups of a run that they have not begun. They take them again with its
 * new terms.
 */
export async function returnAll(client: RedisClient, runId: string): Promise<void> {
  await markPaused(client, runId);
  await delay(2 * POLL_MS);
  await unmarkPaused(client, runId);
}

export function watchPausedRuns(client: RedisClient): PausedRuns {
  const runs = new Map<string, WatchedRun>();

  async function look(runIds: readonly string[]): Promise<void> {
    const pipeline = client.pipeline();
    for (const runId of runIds) pipeline.exists(pausedKey(runId));
    const found = (await pipeline.exec()) ?? [];
    for (const [at, runId] of runIds.entries()) {
      const run = runs.get(runId);
      const [error, isThere] = found[at] ?? [];
      if (run && !error) run.isPaused = isThere === 1;
    }
  }

  async function lookFirst(runId: string): Promise<void> {
    await look([runId]).catch(() => {}); // the next look will do
  }

  const heartbeat = startHeartbeat(POLL_MS, async () => {
    for (const [runId, { watchers }] of runs) if (watchers === 0) runs.delete(runId);
    if (runs.size > 0) await look([...runs.keys()]);
  });

  const has = (runId: string): boolean => runs.get(runId)?.isPaused ?? false;
  return {
    watch: async (runId) => {
      const run = runs.get(runId);
      if (run) run.watchers += 1;
      else runs.set(runId, { isPaused: false, watchers: 1, firstLook: lookFirst(runId) });
      await runs.get(runId)?.firstLook;
    },
    unwatch: (runId) => {
      const run = runs.get(runId);
      if (run) run.watchers -= 1;
    },
    has,
    close: heartbeat.close,
  };
}

interface WatchedRun {
  isPaused: boolean;
  watchers: number;
  /** Until this resolves, nothing is known of the run. */
  readonly firstLook: Promise<void>;
}

/** The key that marks a run as paused. */
export function pausedKey(runId: string): string {
  return `${PREFIX}:paused:${runId}`;
}

interface HoldBackOptions {
  readonly client: RedisClient;
  readonly ledger: Pick<RunLedger, 'runId'>;
  readonly control: Pausable;
  /**
   * Takes all chunks that no worker has begun off the queue. Returns the domains that are left of
   * them.
   */
  readonly returnToRun: () => Promise<readonly (readonly string[])[]>;
  /** Puts domains on the queue. */
  readonly give: (domains: readonly string[]) => Promise<void>;
  /** Filters domains that are on no queue and at no worker: returns those to be asked again now. */
  readonly claimAgain: (domains: readonly string[]) => readonly string[];
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

const LOOK_MS = 500;

/**
 * While a run is paused, workers start no call for it and give back what they have not begun. All
 * its chunks are taken off the queue, so that workers have room for other runs.
 */
export function holdBackWhilePaused(options: HoldBackOptions): HoldBack {
  const {
    client,
    ledger,
    control,
    returnToRun,
    give,
    claimAgain,
    drop,
    signal,
    lookMs = LOOK_MS,
  } = options;
  const { runId } = ledger;
  let holding: Promise<void> | undefined;
  let held: (readonly string[])[] = [];
  let isClosed = false;

  async function hold(): Promise<void> {
    while (control.isPaused && !signal.aborted && !isClosed) {
      try {
        await markPaused(client, runId);
        held.push(...(await returnToRun()));
      } catch {
        // Redis is away, so workers make no calls either. The next look will do.
      }
      await waitForLook();
    }
    // Workers must start no call for a run that is stopping either.
    if (!signal.aborted) await unmarkPaused(client, runId).catch(() => {}); // it expires by itself
    while (held.length > 0 && !signal.aborted && !control.isPaused) {
      const [first = [], ...rest] = held;
      const due = claimAgain(first);
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
