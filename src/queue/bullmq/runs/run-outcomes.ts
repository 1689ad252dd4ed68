import { setTimeout as delay } from 'node:timers/promises';
import type { Job, Queue } from 'bullmq';
import { within } from '../../../common/lifetime.ts';
import { startHeartbeat } from '../../../common/owner.ts';
import type { Reply } from '../../lookup-queue.ts';
import { countWorkers, findStopNotice, isServed, type StopNotice } from '../chunks/heartbeats.ts';
import { createStreamReader, type RawEntry, type StreamEntry } from '../chunks/outcome-stream.ts';
import { toOutcome, withoutCall } from '../contract.ts';
import { runStreamKey } from '../names.ts';
import type { RedisClient, RedisServer } from '../server/redis.ts';
import { createRefusals } from '../server/refusals.ts';
import type { CallNote } from './run-calls.ts';
import type { RunLedger } from './run-ledger.ts';

/** The outcomes that workers report to a run. */
export interface RunOutcomes {
  /** The error that kept outcomes from being stored. They stay in Redis: the next run gets them. */
  readonly failure: { readonly error: unknown } | undefined;
  /** When the last outcomes came, by `performance.now()`; initially, when this was opened. */
  readonly lastAtMs: number;
  close(): Promise<void>;
}

export interface RunOutcomesOptions {
  readonly redis: RedisServer;
  readonly runId: string;
  /** Outcomes that an earlier run of the name did not store, as `readLeftOutcomes` returns them. */
  readonly left: readonly StreamEntry[];
  /** Stores outcomes for good. */
  readonly collect: Reply;
  /** Called with what the run does not learn from outcomes. */
  readonly onNote: (note: CallNote) => void;
  /** Called when outcomes are stored, or cannot be. */
  readonly onChange: () => void;
  /** Called with the reason when Redis refuses to hand outcomes over. */
  readonly onNotice: (message: string) => void;
}

/** Batches that are read at once. */
const ENTRIES_AT_ONCE = 32;
/** How long Redis may wait for the next outcome before it answers. */
const BLOCK_MS = 1_000;
const RETRY_MS = 500;
/**
 * When a run is over, its last outcomes are stored. Only their removal may still be under way. A
 * connection may have lost it, which shows only after half a minute, so the wait is bounded.
 */
const LAST_REMOVAL_MS = 1_500;
const BEGINNING = '0-0';

/** Reads the outcomes that an earlier run of the name did not store. */
export async function readLeftOutcomes(
  { client }: RedisServer,
  runId: string,
): Promise<readonly StreamEntry[]> {
  return await createStreamReader(client).readAll(runStreamKey(runId));
}

/**
 * Stores outcomes as they come, and removes them from Redis when they are stored. While one batch is being
 * stored, the next one is read.
 *
 * @throws what storing those that are left throws
 */
export async function openRunOutcomes(options: RunOutcomesOptions): Promise<RunOutcomes> {
  const { redis, runId, left, collect, onNote, onChange, onNotice } = options;
  const stream = runStreamKey(runId);
  const { decode } = createStreamReader(redis.client);
  const refusals = createRefusals(onNotice, 'a run');
  let failure: RunOutcomes['failure'];
  let lastAtMs = performance.now();
  let isClosed = false;

  async function keep(entries: readonly StreamEntry[]): Promise<void> {
    const outcomes = entries.flatMap((entry) =>
      entry.outcomes.map(({ data, shape }) => toOutcome(data, shape)),
    );
    if (outcomes.length > 0) await collect(outcomes);
    onChange();
    const ids = entries.map(({ id }) => id);
    if (ids.length > 0) {
      await redis.client.xdel(stream, ...ids).catch(async (error: unknown) => {
        refusals.tell(error);
        await delay(RETRY_MS); // they will be read again
      });
    }
  }

  // Calls for them were made for the earlier run.
  await keep(left);

  const connection = redis.connect();

  async function readAll(): Promise<void> {
    let storing = 0;
    let stored: Promise<void> = Promise.resolve();
    let after = BEGINNING;
    while (!isClosed && !failure) {
      // All that is left there is new if nothing is being stored: after a failover, an outcome may have an
      // earlier id than those before it.
      const found = await read(storing === 0 ? BEGINNING : after);
      if (!found) continue;
      lastAtMs = performance.now();
      after = found.at(-1)?.id ?? after;
      for (const { note } of found) if (note) onNote(note);
      const before = stored;
      storing += 1;
      stored = keep(found)
        .catch((error: unknown) => {
          failure ??= { error };
          onChange();
        })
        .finally(() => {
          storing -= 1;
        });
      await before;
    }
    await stored;
  }

  async function read(after: string): Promise<readonly StreamEntry[] | undefined> {
    try {
      const answer = await connection.xread(
        ...(['COUNT', ENTRIES_AT_ONCE, 'BLOCK', BLOCK_MS, 'STREAMS', stream, after] as const),
      );
      const [[, entries] = []] = (answer ?? []) as [string, RawEntry[]][];
      return entries && decode(entries);
    } catch (error) {
      if (!isClosed) {
        refusals.tell(error); // errors of the connection are reported elsewhere
        await delay(RETRY_MS);
      }
      return undefined;
    }
  }

  const reading = readAll();
  return {
    get failure() {
      return failure;
    },
    get lastAtMs() {
      return lastAtMs;
    },
    close: async () => {
      isClosed = true;
      connection.disconnect(); // it may be waiting for an outcome
      await within(LAST_REMOVAL_MS, reading);
    },
  };
}

export interface WatchdogOptions {
  readonly client: RedisClient;
  /** The API of the lookups. */
  readonly api: string;
  /** The queue where chunks wait. */
  readonly queue: Queue;
  readonly ledger: RunLedger;
  /** Domains without an outcome yet. */
  readonly outstanding: ReadonlySet<string>;
  /** Whether an outstanding domain is not to be in Redis: it waits for room, or is pending. */
  readonly isHeld: (domain: string) => boolean;
  /** Puts domains on the queue. */
  readonly give: (domains: readonly string[]) => Promise<void>;
  /** Filters domains that are on no queue and at no worker: returns those to be asked again now. */
  readonly claimAgain: (domains: readonly string[]) => readonly string[];
  /** Fires when the run is stopped. No lookups are given out any more. */
  readonly signal: AbortSignal;
  /** Called with domains that will not be asked, because the run was stopped meanwhile. */
  readonly drop: (domains: readonly string[]) => void;
  readonly collect: Reply;
  readonly onNotice: (message: string) => void;
  /** Called with whether there is no worker, at each check while no outcomes come. */
  readonly onAlone?: ((isAlone: boolean) => void) | undefined;
  /** When the last outcome came, by a monotonic clock: `performance.now()`. */
  readonly progressAtMs: () => number;
}

/** Checks the lookups of a run when no outcomes come. */
export interface Watchdog {
  close(): void;
}

const POLL_MS = 1_000;
const SILENCE_MS = 30_000;
const CHUNK_SIZE = 50;
const FIRST_LOOK_MS = 2_000;

/**
 * A run is not told that a chunk is gone: a Redis without persistence, or a job that was removed by
 * hand, gives no sign. So when no outcome came for half a minute, every chunk that is out is
 * checked. Lookups whose chunk is gone are put on the queue again, unless the run is stopped or
 * another run has asked them meanwhile. Lookups whose job has failed end as failed. Chunks that
 * were parked are brought back.
 */
export function createWatchdog(options: WatchdogOptions): Watchdog {
  const { client, api, queue, ledger, outstanding, isHeld, give, claimAgain, drop, signal } =
    options;
  const { collect, onNotice, onAlone, progressAtMs } = options;
  let lookedAtMs = performance.now();
  let isAlone = false;
  /** Why the last worker stopped, as told. */
  let reportedWhy: string | undefined;

  /**
   * Meanwhile workers give chunks back as others, and the run gives out more: what was only then given out
   * is no loss, nor what is in a chunk that is noted at the end.
   */
  async function look(): Promise<void> {
    const awaited = [...outstanding].filter((domain) => !isHeld(domain));
    const carried = new Set<string>();
    const gone: string[] = [];
    for (const [id, domains] of await ledger.read()) {
      const job = await queue.getJob(id);
      if (job && (await job.isFailed())) await end(id, domains, job.failedReason);
      else if (job) {
        for (const domain of domains) carried.add(domain);
        await promote(job);
      } else gone.push(id);
    }
    await ledger.strike(gone);
    for (const domains of (await ledger.read()).values()) {
      for (const domain of domains) carried.add(domain);
    }
    const isLost = (domain: string): boolean =>
      outstanding.has(domain) && !isHeld(domain) && !carried.has(domain);
    const lost = awaited.filter(isLost);
    if (lost.length === 0) return;
    if (signal.aborted) return drop(lost);
    // A run that was paused meanwhile has taken chunks off the queue, and gives them out again itself.
    if (!isSilent()) return;
    const due = claimAgain(lost);
    if (due.length === 0) return;
    onNotice(`Lookups were missing from Redis and are put there again: ${due.length}.`);
    for (let at = 0; at < due.length && !signal.aborted; at += CHUNK_SIZE) {
      await give(due.slice(at, at + CHUNK_SIZE));
    }
  }

  /**
   * A chunk delayed for a second by a clock that is ahead would wait until other clocks get
   * there.
   */
  async function promote(job: Job): Promise<void> {
    await job.promote().catch(() => {}); // it waits only for a worker, or has one
  }

  async function end(id: string, domains: readonly string[], reason: string): Promise<void> {
    const why = { status: 'failed', reason, nowMs: Date.now() } as const;
    const left = domains.filter((domain) => outstanding.has(domain));
    await collect(left.map((domain) => toOutcome(withoutCall(domain, why))));
    await ledger.strike([id]);
    await (await queue.getJob(id))?.remove();
  }

  async function reportWhenAlone(): Promise<void> {
    const isNowAlone = !(await isServed(client, api));
    const last = isNowAlone ? await findStopNotice(client, api) : undefined;
    // A worker may have come and stopped between two checks. One that is started again and again
    // stops for the same reason each time.
    const isNews = last !== undefined && last.why !== reportedWhy;
    if (isNowAlone && (!isAlone || isNews)) {
      const areOthers = (await countWorkers(client)) > 0;
      reportedWhy = last?.why;
      onNotice(describeAbsence(areOthers, last));
    }
    isAlone = isNowAlone;
    onAlone?.(isAlone);
  }

  function isSilent(): boolean {
    return performance.now() - progressAtMs() > SILENCE_MS;
  }

  async function check(): Promise<void> {
    if (outstanding.size === 0) return;
    const now = performance.now();
    if (isSilent() && now - lookedAtMs > SILENCE_MS) {
      lookedAtMs = now;
      await look();
    }
    if (now - progressAtMs() > FIRST_LOOK_MS) await reportWhenAlone();
  }

  const { close } = startHeartbeat(POLL_MS, check);
  return { close };
}

/** @param areOthers whether there are workers for other APIs */
function describeAbsence(areOthers: boolean, last: StopNotice | undefined): string {
  const whom = areOthers ? 'that asks this API' : 'to make the lookups';
  const start = `No worker is there ${whom}: start one with brandfill worker --queue … --base-url …`;
  if (!last) return start;
  return `${start}. One stopped by itself at ${new Date(last.atMs).toISOString()}: ${last.why}`;
}
