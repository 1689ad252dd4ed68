import { setMaxListeners } from 'node:events';
import { type CallCounters, createCallCounters } from '../../../common/calls.ts';
import { unlessAborted, within } from '../../../common/lifetime.ts';
import { createChange } from '../../../common/run-control.ts';
import type { LookupQueue, Pausable, Reply } from '../../lookup-queue.ts';
import { type ChunkTaker, type TakeChunksOptions, takeChunks } from '../chunks/take-chunks.ts';
import type { RunBounds } from '../contract.ts';
import { LOOKUPS_QUEUE, PREFIX, SHUTDOWN_TIMEOUT_MS } from '../names.ts';
import { watchQueuePause } from '../queues.ts';
import type { RedisClient, RedisServer } from '../server/redis.ts';
import { holdBackWhilePaused, markPaused, returnAll, unmarkPaused } from './pauses.ts';
import { beginCalls, forgetCalls, type UsedUpBound } from './run-calls.ts';
import { areChunksOut, openGivenChunks, ownLostRun, ownRun, type RunLedger } from './run-ledger.ts';
import {
  createWatchdog,
  openRunOutcomes,
  type RunOutcomes,
  readLeftOutcomes,
} from './run-outcomes.ts';

export interface RunQueueOptions
  extends RunBounds,
    Pick<
      TakeChunksOptions,
      'redis' | 'api' | 'concurrency' | 'normalize' | 'leaseMs' | 'maxPendingMs'
    > {
  /** The same for the same list on the same store. A killed run is resumed by its name. */
  readonly name: string;
  /** The ledger of a run that is already owned. @default the run is owned by its name */
  readonly ledger?: RunLedger;
  /** The name of the list, for people. @default 'a list' */
  readonly list?: string;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /**
   * Domains under way. The collector removes what it stores; domains of an earlier run are added.
   */
  readonly outstanding: Set<string>;
  /** Outstanding domains that are pending, and on no queue: they take no room. @default none */
  readonly parked?: ReadonlySet<string>;
  /** Claims domains again that were not held for a while. @default all are granted */
  readonly claim?: ((domains: readonly string[]) => ClaimedAgain) | undefined;
  /** The most lookups under way. */
  readonly window: number;
  /** Called with domains that an earlier run of the name gave out, before their outcomes come. */
  readonly onEarlier?: (domains: readonly string[]) => void;
  /** Called when more calls were wanted than a bound allows. */
  readonly onCallsUsedUp?: (bound: UsedUpBound) => void;
  /** Called at the end with calls that no outcome has reported. */
  readonly onUnreportedCalls?: (calls: Readonly<CallCounters>) => void;
  /** Fires when the run is stopped. Lookups that no worker has begun are then taken back. */
  readonly signal: AbortSignal;
  /** After a stop, ends the wait for workers that have begun and for a Redis that is away. */
  readonly giveUp: AbortSignal;
  /** Says whether the run is paused. @default never paused */
  readonly control?: Pausable | undefined;
  readonly onNotice: (message: string) => void;
  /** Called with whether there is no worker, at each check while no outcomes come. */
  readonly onAlone?: ((isAlone: boolean) => void) | undefined;
}

export interface ClaimedAgain {
  /** Domains that may be asked. */
  readonly granted: readonly string[];
  /** Domains that another run has under way. */
  readonly refused: readonly string[];
}

export interface RunQueue extends LookupQueue {
  /** The name under which the run is owned. */
  readonly runId: string;
}

/** How often, after a stop, lookups that workers returned are returned to the run. */
const DROP_MS = 500;
/** A Redis that cannot be reached must not hold up the end of a run for longer. */
const CLOSE_MS = 5_000;

/**
 * The queue of one run over Redis. The run may be killed at any point: the next run of the same
 * name finds in Redis what is out and what has come back meanwhile.
 */
export async function openRunQueue(options: RunQueueOptions): Promise<RunQueue> {
  const { redis, name, collect, outstanding, window, control, signal, giveUp, onNotice } = options;
  const { client } = redis;
  const list = options.list ?? 'a list';
  const parked = options.parked ?? new Set();
  const ledger = options.ledger ?? (await ownRun({ client, name, list, onNotice }));
  const change = createChange();
  const unreported = createCallCounters();
  const outcomes = await openOutcomes({ ...options, unreported }, ledger, change.notify);
  const stops = [signal, giveUp];
  for (const stop of stops) stop.addEventListener('abort', change.notify);
  const given = openGivenChunks({ ...options, client, ledger });
  const { queue, give, returnToRun } = given;
  const shared = { ...options, client, ledger, queue, give, returnToRun, drop, claimAgain };
  /** Domains of a chunk that waits for room in the window. */
  const held = new Set<string>();
  const holdBack = control && holdBackWhilePaused({ ...shared, control });
  const stopListening = control?.onChange(change.notify);
  const watchdog = createWatchdog({
    ...shared,
    isHeld: (domain) => held.has(domain) || parked.has(domain),
    collect: async (failed) => {
      await collect(failed);
      change.notify();
    },
    // Lookups that are held back bring no outcomes.
    progressAtMs: () => (holdBack?.isHolding ? performance.now() : outcomes.lastAtMs),
  });
  const pauseWatch = watchQueuePause({ client, queue: LOOKUPS_QUEUE, onNotice });
  let hasEnded = false;
  let working: Promise<void> | undefined;

  function drop(domains: readonly string[]): void {
    for (const domain of domains) outstanding.delete(domain);
    change.notify();
  }

  /** Domains that another run has under way are left out. The watchdog finds them again. */
  function claimAgain(domains: readonly string[]): readonly string[] {
    const { claim = () => ({ granted: domains, refused: [] }) } = options;
    const { granted, refused } = claim(domains);
    const open = new Set([...granted, ...refused]);
    drop(domains.filter((domain) => !open.has(domain)));
    return granted;
  }

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !outcomes.failure) await change.wait();
    if (outcomes.failure) throw outcomes.failure.error;
  }

  function isDone(): boolean {
    const areAllBack = hasEnded && outstanding.size === 0;
    return areAllBack || giveUp.aborted || outcomes.failure !== undefined;
  }

  /** Makes workers start no further call and give back what they have not begun. */
  async function dropUnbegun(): Promise<void> {
    await markPaused(client, ledger.runId);
    for (const domains of await returnToRun()) drop(domains);
  }

  async function stopAfter(taker: ChunkTaker, end: Promise<void>): Promise<void> {
    try {
      await end;
    } finally {
      const stopped = taker.stop();
      await unlessAborted(stopped, giveUp).catch(() => {}); // what went wrong comes next
      await within(SHUTDOWN_TIMEOUT_MS, stopped);
    }
  }

  async function closeAll(isOver: boolean): Promise<void> {
    await holdBack?.close();
    if (signal.aborted) await unmarkPaused(client, ledger.runId);
    // Another run that has the name by now still needs what is under it.
    const isOurs = await ledger.touch();
    await outcomes.close();
    await ledger.close(isOver && isOurs);
    if (isOurs) await forgetCalls(client, ledger.runId);
    await given.close();
  }

  return {
    runId: ledger.runId,
    add: async ({ domains, round }) => {
      for (const domain of domains) held.add(domain);
      await until(
        () =>
          (outstanding.size - parked.size - domains.length < window && !control?.isPaused) ||
          signal.aborted,
      );
      if (signal.aborted) for (const domain of domains) outstanding.delete(domain);
      // When it is given up, the chunk may be out. The next run looks for it.
      else await give(domains, round).catch(() => {});
      for (const domain of domains) held.delete(domain);
    },
    end: () => {
      hasEnded = true;
      change.notify();
    },
    work: async (handle, standing) => {
      const taker = takeChunks({ ...options, ...standing, handle });
      const ended = until(() => isDone() || signal.aborted);
      working = stopAfter(taker, Promise.race([ended, taker.ended]));
      await working;
    },
    settled: async () => {
      await until(() => isDone() || signal.aborted);
      if (!signal.aborted) return;
      await working;
      const ticker = setInterval(change.notify, DROP_MS);
      try {
        while (!isDone()) {
          // Redis may accept next time what it refuses now.
          await unlessAborted(dropUnbegun(), giveUp).catch(() => {});
          if (outstanding.size > 0) await change.wait();
          hasEnded = true;
        }
      } finally {
        clearInterval(ticker);
      }
      if (outcomes.failure) throw outcomes.failure.error;
    },
    close: async () => {
      watchdog.close();
      await pauseWatch.close();
      stopListening?.();
      for (const stop of stops) stop.removeEventListener('abort', change.notify);
      const isOver = outstanding.size === 0 && !outcomes.failure;
      const isClosed = await within(CLOSE_MS, closeAll(isOver)).catch(() => false);
      options.onUnreportedCalls?.(unreported);
      // If Redis is away or refuses to write, its keys stay, and the next run of the name finds
      // them.
      if (!isClosed) void ledger.close(false).catch(() => {});
    },
  };
}

/**
 * Begins to count calls, resumes what an earlier run left, and receives outcomes. On failure the name of the
 * run is given up.
 */
async function openOutcomes(
  options: RunQueueOptions & { readonly unreported: CallCounters },
  ledger: RunLedger,
  onChange: () => void,
): Promise<RunOutcomes> {
  const { redis, outstanding, maxCalls, maxCost, onEarlier, unreported } = options;
  const isBounded = maxCalls !== undefined || maxCost !== undefined;
  const { client } = redis;
  const { runId } = ledger;
  try {
    const { usedUpBy } = await beginCalls(client, runId, { maxCalls, maxCost });
    const underWay = await findUnderWay(client, ledger);
    const left = await readLeftOutcomes(redis, runId);
    const reported = left.flatMap((entry) => entry.outcomes.map(({ data }) => data.domain));
    const earlier = [...new Set([...underWay, ...reported])];
    for (const domain of earlier) outstanding.add(domain);
    if (earlier.length > 0) onEarlier?.(earlier);
    // Workers that have begun do not know the new bounds on calls.
    if (underWay.length > 0 && isBounded) await returnAll(client, runId);
    return await openRunOutcomes({
      ...options,
      runId,
      left,
      onChange,
      onNote: (note) => {
        // Only their sum means something: those under way are taken off when outcomes report them.
        unreported.calls += note.calls;
        unreported.throttled += note.throttled;
        unreported.retries += note.retries;
        unreported.billedMicros += note.billedMicros;
        const bound = usedUpBy(note);
        if (bound) options.onCallsUsedUp?.(bound);
      },
    });
  } catch (error) {
    await within(CLOSE_MS, ledger.close(false)).catch(() => {}); // then it runs out by itself
    throw error;
  }
}

/**
 * The domains that an earlier run of the same name gave out and no worker has reported. Chunks that it had
 * noted but not put on the queue when it was killed are struck, because they would never be answered. Parts
 * of chunks are kept, since a live worker may be about to add them.
 */
async function findUnderWay(client: RedisClient, ledger: RunLedger): Promise<readonly string[]> {
  const chunks = new Map(await ledger.read());
  const given = [...chunks.keys()].filter((id) => id.startsWith(`${ledger.runId}-`));
  const looking = client.pipeline();
  for (const id of given) looking.exists(`${PREFIX}:${LOOKUPS_QUEUE}:${id}`);
  const found = (await looking.exec()) ?? [];
  const neverAdded = given.filter((_, at) => found[at]?.[1] === 0);
  await ledger.strike(neverAdded);
  for (const id of neverAdded) chunks.delete(id);
  return [...chunks.values()].flat();
}

interface LostRunsOptions
  extends Pick<RunQueueOptions, 'api' | 'concurrency' | 'normalize' | 'onNotice'> {
  readonly redis: RedisServer;
  /** Returns a function that stores outcomes and removes their domains from the set. */
  readonly collectInto: (outstanding: Set<string>) => Reply;
  /** Fires when this run is stopped. */
  readonly signal: AbortSignal;
}

/** Ends what lost runs have on the queue. */
interface LostRuns {
  /** @returns whether nothing of the run is left. False while another run has it. */
  readonly end: (runId: string) => Promise<boolean>;
  /** Leaves the rest to other runs. */
  close(): Promise<void>;
}

/**
 * Workers go on with the chunks of a run that was killed. A run that wants the same domains stops
 * the killed run in its place: outcomes are stored, and chunks that no worker has begun are taken
 * back.
 */
export function createLostRuns(options: LostRunsOptions): LostRuns {
  const { redis, collectInto, signal, onNotice } = options;
  const over = new AbortController();
  const giveUp = AbortSignal.any([signal, over.signal]);
  setMaxListeners(0, giveUp);
  const going = new Set<Promise<boolean>>();

  async function end(runId: string): Promise<boolean> {
    const ledger = await ownLostRun(redis.client, runId, onNotice);
    if (!ledger) return !(await areChunksOut(redis.client, runId));
    const outstanding = new Set<string>();
    const queue = await openRunQueue({
      ...options,
      name: runId,
      ledger,
      outstanding,
      collect: collectInto(outstanding),
      onEarlier: () =>
        onNotice('Another run was lost and left lookups on the queue: this run takes them over.'),
      window: 0,
      signal: AbortSignal.abort(),
      giveUp,
    });
    try {
      await queue.settled();
    } finally {
      await queue.close();
    }
    return outstanding.size === 0;
  }

  return {
    end: async (runId) => {
      if (giveUp.aborted) return false;
      const ended = end(runId);
      going.add(ended);
      try {
        return await ended;
      } finally {
        going.delete(ended);
      }
    },
    close: async () => {
      over.abort();
      await Promise.allSettled(going);
    },
  };
}
