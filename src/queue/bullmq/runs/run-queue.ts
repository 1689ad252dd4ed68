import type { CallCounters } from '../../../common/call-counters.ts';
import { unlessAborted } from '../../../common/unless-aborted.ts';
import { within } from '../../../common/within.ts';
import { createChange } from '../../change.ts';
import type { LookupQueue, Pausable, Reply } from '../../lookup-queue.ts';
import { type ChunkTaker, type TakeChunksOptions, takeChunks } from '../chunks/take-chunks.ts';
import { LOOKUPS_QUEUE } from '../names.ts';
import { watchQueuePause } from '../queue-pause.ts';
import { type CallsWatch, type CallsWatchOptions, watchCalls } from './calls-watch.ts';
import { openGivenChunks } from './given-chunks.ts';
import { holdBackWhilePaused } from './hold-back.ts';
import { inherit } from './inherit.ts';
import { markPaused, recall, unmarkPaused } from './paused-runs.ts';
import { claimRun, type RunLedger } from './run-ledger.ts';
import { openRunReplies, type RunReplies, type RunRepliesOptions } from './run-replies.ts';
import { createWatchdog } from './watchdog.ts';

export interface RunQueueOptions
  extends Pick<TakeChunksOptions, 'redis' | 'api' | 'concurrency' | 'normalize' | 'lockMs'>,
    CallsWatchOptions {
  /** The same for the same list on the same store: a run that was killed is taken up by its name. */
  readonly name: string;
  /** A run that is claimed already. @default it is claimed by its name */
  readonly ledger?: RunLedger;
  /** What the list is called, for people. @default its name is not known */
  readonly list?: string;
  /** Receives the outcomes. */
  readonly collect: Reply;
  /** Domains on their way. The collector takes out what it keeps; what an earlier run gave out is put in. */
  readonly outstanding: Set<string>;
  /** Claims domains once more that were out of hand for a while. @default all are granted */
  readonly claim?: ((domains: readonly string[]) => ClaimedAgain) | undefined;
  /** How many lookups may be on their way. */
  readonly window: number;
  /** Told, before an outcome of them comes, of domains that an earlier run of the name gave out. */
  readonly onInherited?: (domains: readonly string[]) => void;
  /** Told at the end of calls that no outcome tells of. */
  readonly onUntoldCalls?: (calls: Readonly<CallCounters>) => void;
  /** Fires when the run is stopped: what nobody has begun is taken back. */
  readonly signal: AbortSignal;
  /** Ends the wait for workers that have begun, and for a Redis that is away, after a stop. */
  readonly giveUp: AbortSignal;
  /** Says whether the run is paused. @default it never is */
  readonly control?: Pausable | undefined;
  readonly onNotice: (message: string) => void;
  /** Told whether there is a worker, as often as nothing moves. */
  readonly onAlone?: ((isAlone: boolean) => void) | undefined;
}

export interface ClaimedAgain {
  /** May be asked. */
  readonly granted: readonly string[];
  /** Another run has them under way. */
  readonly refused: readonly string[];
}

export interface RunQueue extends LookupQueue {
  /** The name that the run got. */
  readonly runId: string;
}

/** How often, after a stop, what workers gave back is taken back from the queue. */
const WITHDRAW_MS = 500;
/** A Redis that is gone must not hold up the end of a run. */
const CLOSE_MS = 5_000;
const FAREWELL_MS = 3_000;

/**
 * The queue of one run over Redis. It may be killed at any point: the next run of the same name finds
 * in Redis what is out, and what has come back meanwhile.
 */
export async function openRunQueue(options: RunQueueOptions): Promise<RunQueue> {
  const { redis, name, collect, outstanding, window, control, signal, giveUp, onNotice } = options;
  const { client } = redis;
  const list = options.list ?? 'a list';
  const ledger = options.ledger ?? (await claimRun({ client, name, list, onNotice }));
  const change = createChange();
  const { calls, replies } = await openParts(options, { ledger, onChange: change.tell });
  const stops = [signal, giveUp];
  for (const stop of stops) stop.addEventListener('abort', change.tell);
  const { takeLogged } = replies;
  const given = openGivenChunks({ ...options, client, ledger, takeLogged });
  const { queue, give, withdraw } = given;
  const shared = { ...options, client, ledger, queue, give, withdraw, takeLogged, drop, retake };
  /** Domains of a chunk that waits for room in the window. */
  const held = new Set<string>();
  const holdBack = control && holdBackWhilePaused({ ...shared, control });
  const stopListening = control?.onChange(change.tell);
  const watchdog = createWatchdog({
    ...shared,
    held,
    collect: async (outcomes) => {
      await collect(outcomes);
      change.tell();
    },
    // What is held back is silent.
    progressAtMs: () => (holdBack?.isHolding ? performance.now() : replies.lastAtMs),
  });
  const pauseWatch = watchQueuePause({ client, queue: LOOKUPS_QUEUE, onNotice });
  let hasEnded = false;
  let working: Promise<void> | undefined;

  function drop(domains: readonly string[]): void {
    for (const domain of domains) outstanding.delete(domain);
    change.tell();
  }

  /** What another run has under way, the watchdog finds again. */
  function retake(domains: readonly string[]): readonly string[] {
    const { claim = () => ({ granted: domains, refused: [] }) } = options;
    const { granted, refused } = claim(domains);
    const open = new Set([...granted, ...refused]);
    drop(domains.filter((domain) => !open.has(domain)));
    return granted;
  }

  async function until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !replies.failure) await change.next();
    if (replies.failure) throw replies.failure.error;
  }

  function isDone(): boolean {
    const areAllBack = hasEnded && outstanding.size === 0;
    return areAllBack || giveUp.aborted || replies.failure !== undefined;
  }

  /** Has workers start no further call, and give back what they have not begun. */
  async function dropUnbegun(): Promise<void> {
    await markPaused(client, ledger.runId);
    for (const domains of await withdraw()) drop(domains);
  }

  async function stopAfter(taker: ChunkTaker, end: Promise<void>): Promise<void> {
    try {
      await end;
    } finally {
      const stopped = taker.stop();
      await unlessAborted(stopped, giveUp).catch(() => {}); // what went wrong comes next
      await within(FAREWELL_MS, stopped);
    }
  }

  async function closeAll(isOver: boolean): Promise<void> {
    await holdBack?.close();
    if (signal.aborted) await unmarkPaused(client, ledger.runId);
    // What is there under the name of another run by now, that one still needs.
    const isOurs = await ledger.date();
    await replies.close(isOver && isOurs);
    await ledger.close(isOver && isOurs);
    if (isOurs) {
      const untold = await calls.takeUntold();
      options.onUntoldCalls?.(untold);
    }
    await given.close();
  }

  return {
    runId: ledger.runId,
    add: async ({ domains }) => {
      for (const domain of domains) held.add(domain);
      await until(
        () => (outstanding.size - domains.length < window && !control?.isPaused) || signal.aborted,
      );
      if (signal.aborted) for (const domain of domains) outstanding.delete(domain);
      // Given up, it may be out: the next run looks for it.
      else await give(domains).catch(() => {});
      for (const domain of domains) held.delete(domain);
    },
    end: () => {
      hasEnded = true;
      change.tell();
    },
    work: async (handle) => {
      const taker = takeChunks({ ...options, handle });
      const ended = until(() => isDone() || signal.aborted);
      working = stopAfter(taker, Promise.race([ended, taker.ended]));
      await working;
    },
    settled: async () => {
      await until(() => isDone() || signal.aborted);
      if (!signal.aborted) return;
      await working;
      const ticker = setInterval(change.tell, WITHDRAW_MS);
      try {
        while (!isDone()) {
          // What Redis refuses now it may take the next time.
          await unlessAborted(dropUnbegun(), giveUp).catch(() => {});
          if (outstanding.size > 0) await change.next();
          hasEnded = true;
        }
      } finally {
        clearInterval(ticker);
      }
      if (replies.failure) throw replies.failure.error;
    },
    close: async () => {
      watchdog.close();
      await pauseWatch.close();
      calls.stop(); // at once: a Redis that is away holds up what follows
      stopListening?.();
      for (const stop of stops) stop.removeEventListener('abort', change.tell);
      const isOver = outstanding.size === 0 && !replies.failure;
      const isClosed = await within(CLOSE_MS, closeAll(isOver)).catch(() => false);
      // What a Redis that is away or refuses to write keeps, the next run of the name finds.
      if (!isClosed) void ledger.close(false).catch(() => {});
    },
  };
}

/**
 * Counts the calls of a run, takes up what an earlier one left, and receives what workers tell. What was
 * opened is closed again where that fails: the claim of the run would else be renewed for ever.
 */
async function openParts(
  options: RunQueueOptions,
  { ledger, onChange }: Pick<RunRepliesOptions, 'ledger' | 'onChange'>,
): Promise<{ readonly calls: CallsWatch; readonly replies: RunReplies }> {
  const { redis, outstanding, maxCalls } = options;
  const { client } = redis;
  let calls: CallsWatch | undefined;
  try {
    calls = await watchCalls(client, ledger.runId, options);
    const inherited = await inherit(client, ledger);
    for (const domain of inherited) outstanding.add(domain);
    if (inherited.length > 0) options.onInherited?.(inherited);
    // Workers that have begun do not know how many calls may be made by now.
    if (inherited.length > 0 && maxCalls !== undefined) await recall(client, ledger.runId);
    return { calls, replies: await openRunReplies({ ...options, ledger, onChange }) };
  } catch (error) {
    calls?.stop();
    await within(CLOSE_MS, ledger.close(false)).catch(() => {}); // then it runs out by itself
    throw error;
  }
}
