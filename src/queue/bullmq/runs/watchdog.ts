import type { Job, Queue } from 'bullmq';
import { startHeartbeat } from '../../../common/owner.ts';
import type { Reply } from '../../lookup-queue.ts';
import { countWorkers, findStopNotice, isServed, type StopNotice } from '../chunks/presence.ts';
import { toOutcome, withoutCall } from '../contract.ts';
import type { RedisClient } from '../server/redis.ts';
import type { RunLedger } from './run-ledger.ts';

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
 * were set aside are brought back.
 */
export function createWatchdog(options: WatchdogOptions): Watchdog {
  const { client, api, queue, ledger, outstanding, isHeld, give, claimAgain, drop, signal } =
    options;
  const { collect, onNotice, onAlone, progressAtMs } = options;
  let lookedAtMs = performance.now();
  let isAlone = false;
  /** Why the last worker stopped, as told. */
  let toldWhy: string | undefined;

  /**
   * Meanwhile workers give chunks back as others, and the run gives out more: what was only then given out
   * is no loss, nor what is in a chunk that is noted at the end.
   */
  async function look(): Promise<void> {
    const suspects = [...outstanding].filter((domain) => !isHeld(domain));
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
    const lost = suspects.filter(isLost);
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
   * A chunk set aside for a second by a clock that is ahead would wait until other clocks get
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

  async function tellWhenAlone(): Promise<void> {
    const isNowAlone = !(await isServed(client, api));
    const last = isNowAlone ? await findStopNotice(client, api) : undefined;
    // A worker may have come and stopped between two checks. One that is started again and again
    // stops for the same reason each time.
    const isNews = last !== undefined && last.why !== toldWhy;
    if (isNowAlone && (!isAlone || isNews)) {
      const areOthers = (await countWorkers(client)) > 0;
      toldWhy = last?.why;
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
    if (now - progressAtMs() > FIRST_LOOK_MS) await tellWhenAlone();
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
