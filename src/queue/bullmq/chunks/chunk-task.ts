import { type Job, UnrecoverableError } from 'bullmq';
import type { Outcome } from '../../../brand/outcome.ts';
import type { HandleChunk } from '../../lookup-queue.ts';
import { nextAskMs, type PendingSince } from '../../parking.ts';
import { BACKFILLS } from '../backfills/backfill-pause.ts';
import {
  addresseeOf,
  FOREIGN_TO_RUN,
  isForeignToRun,
  type LookupsData,
  type OutcomeData,
  parseLookups,
  replyToOf,
} from '../contract.ts';
import { findRunId } from '../names.ts';
import { toData, withoutCall } from '../outcome-data.ts';
import type { PausedRuns } from '../runs/paused-runs.ts';
import type { RunCalls } from '../runs/run-calls.ts';
import { type ChunkLock, describeCutOff } from './chunk-locks.ts';
import type { ChunkReturns, TakenChunk } from './chunk-returns.ts';
import { judgeChunk } from './chunk-verdict.ts';
import type { OutcomeLog, ReadLog } from './outcome-log.ts';
import type { ChunkOutcomes, OutcomeSender } from './outcome-sender.ts';
import type { Quarantine } from './quarantine.ts';

/** Works on a chunk, from its job to its outcomes. */
export type ChunkTask = (taken: TakenJob) => Promise<void>;

export interface TakenJob {
  readonly job: Job;
  /** The token with which the job was taken and must be finished. */
  readonly token: string;
  readonly lock: ChunkLock;
}

export interface ChunkTaskOptions {
  readonly handle: HandleChunk;
  /** Makes the key of a lookup from a text of the chunk, or says why there is none. */
  readonly normalize: (text: string) => { readonly domain: string } | { readonly invalid: string };
  /** The API that this worker asks. */
  readonly api: string;
  /** Counts and bounds the calls that are made for a chunk of a run. */
  readonly countCalls: (data: LookupsData) => Promise<RunCalls | undefined>;
  /** Whether a chunk for another API is refused. Otherwise it is left to other workers. */
  readonly mayRefuse: (chunk: string, api: string) => Promise<boolean>;
  /** Puts a chunk back on the queue unchanged, for other workers. */
  readonly leave: (taken: TakenJob) => Promise<void>;
  readonly log: OutcomeLog;
  readonly readLog: ReadLog;
  readonly sender: OutcomeSender;
  readonly returns: ChunkReturns;
  readonly quarantine: Quarantine;
  /** The domains of a chunk whose outcomes are still awaited; undefined when none are. */
  readonly findExpected: (
    chunk: string,
    data: LookupsData,
  ) => Promise<readonly string[] | undefined>;
  /**
   * Runs that make no calls at present. Their chunks wait, and lookups that are not begun go back.
   */
  readonly paused: PausedRuns;
  /** Sets a chunk aside: its run is paused or stopping, or it has no run and those are paused. */
  readonly setAside: (taken: TakenJob, runId: string | undefined) => Promise<void>;
  /** True when no further lookup may start. */
  readonly isStopping: () => boolean;
  /** Called with how many more (or, if negative, fewer) lookups are left to do. */
  readonly onLeft: (change: number) => void;
  readonly onNotice: (message: string) => void;
  /** How long lookups of no run may be pending. Runs see to their own. @default 0 */
  readonly maxPendingMs?: number;
  /** The time that all workers share. The clocks of their machines may differ. */
  readonly now: () => number;
}

/**
 * The life of a chunk at a worker:
 *
 * 0. While its run is paused or stopping, or chunks without a run are paused, it is set aside.
 * 1. It is refused when it breaks the contract, and dropped when it is no longer awaited. If it is
 *    for another API it is left to the workers of that API, and refused when there are none.
 * 2. The outcomes of an earlier worker that was lost are read from the log.
 * 3. If it has lost three workers, it goes back in halves. Each half is looked up alone. If its
 *    worker is lost again it is cut further, down to the one domain, which is given up after three
 *    times. Otherwise the rest is looked up.
 * 4. Domains that were not asked because this worker stops go back as a chunk of their own.
 *    Those that are pending go back as another, to be asked again when it is due, unless a run
 *    waits for them, which sees to that itself.
 * 5. The outcomes are sent before the job is completed. The job of a killed worker comes again.
 *
 * A worker that lost its claim meanwhile leaves the chunk to the worker that has it.
 */
export function createChunkTask(options: ChunkTaskOptions): ChunkTask {
  const { handle, normalize, api, findExpected, countCalls, mayRefuse, leave, setAside } = options;
  const {
    log,
    readLog,
    sender,
    returns,
    quarantine,
    paused,
    isStopping,
    onLeft,
    onNotice,
    now,
    maxPendingMs = 0,
  } = options;

  async function run(taken: TakenJob): Promise<void> {
    const runId = runOf(taken.job.data);
    const owner = runId ?? BACKFILLS;
    await paused.watch(owner);
    try {
      if (paused.has(owner)) return await setAside(taken, runId);
      await work(taken, () => paused.has(owner));
    } finally {
      paused.letGo(owner);
      log.letGo(taken.job.id ?? '');
    }
  }

  async function work(taken: TakenJob, isPaused: () => boolean): Promise<void> {
    const { job } = taken;
    const id = job.id ?? '';
    // A chunk whose children in a flow have failed can only fail.
    const data = job.deferredFailure || parseLookups(job.data);
    if (typeof data === 'string') return await refuse(taken, data);
    // The priority with which it was added: a worker may have brought it forward since.
    const { priority = 0 } = job.opts;
    // In this order: the run strikes a chunk before it removes its log, so no log means not
    // expected.
    const logged = await readLog(id);
    const domains = await findExpected(id, data);
    const expected = { ...data, domains: domains ?? [] };
    const chunk: TakenChunk = { id, data: expected, addedAtMs: job.timestamp, priority };
    if (!domains && isForeignToRun(id, data)) return await refuse(taken, FOREIGN_TO_RUN);
    // The worker was killed after it had sent the outcomes, or the run is over.
    if (!domains) return await finish(chunk, taken, []);
    const known = new Map(logged.outcomes.map(({ data: each }) => [each.domain, each]));
    const left = unknownOf(domains, known);
    if (data.api !== undefined && data.api !== api) {
      if (!(await mayRefuse(id, data.api))) return await leave(taken);
      onNotice(`Chunk ${id} is meant for another API and was refused; see --base-url and --param.`);
      await fail(id, { left, known }, 'worker_has_other_api');
      return await finish(chunk, taken, [...known.values()]);
    }
    const makeLookups = async (): Promise<void> => {
      const isWanted = (): boolean => !isStopping() && taken.lock.isOurs() && !isPaused();
      const calls = await countCalls(data);
      const parked = isOfRun(chunk) ? undefined : new Map<string, number>();
      await lookUp(chunk, { left, known, parked, lock: taken.lock, isWanted, calls });
      await calls?.settle();
      await settle(chunk, taken, { left, known, parked });
    };
    const { stalledCounter: lostWorkers } = job;
    const record = { domains: left.size, isSuspect: data.suspect === true, lostWorkers };
    switch (judgeChunk({ ...record, isolatedAttempts: logged.isolatedAttempts })) {
      case 'cut':
        onNotice(`Chunk ${id} lost its worker ${job.stalledCounter} times and was split in two.`);
        await returns.bisect(chunk, [...left.values()]);
        return await finish(chunk, taken, [...known.values()]);
      case 'give_up':
        onNotice(`Chunk ${id} has lost every worker that took it, and is given up.`);
        await fail(id, { left, known }, 'worker_lost');
        return await finish(chunk, taken, [...known.values()]);
      case 'look_up_alone':
        return await quarantine.exclusive(async () => {
          await log.noteIsolatedAttempt(id);
          await makeLookups();
        });
      case 'look_up':
        return await quarantine.shared(makeLookups);
    }
  }

  /**
   * Domains without an outcome, with their texts in the chunk. Invalid texts get an outcome here.
   */
  function unknownOf(
    texts: readonly string[],
    known: Map<string, OutcomeData>,
  ): ReadonlyMap<string, string> {
    const unknown = new Map<string, string>();
    for (const text of texts) {
      const found = normalize(text);
      if ('invalid' in found) {
        const why = { status: 'invalid', reason: found.invalid, nowMs: now() } as const;
        known.set(text, withoutCall(text, why));
      } else if (!known.has(found.domain)) unknown.set(found.domain, text);
    }
    return unknown;
  }

  /** Looks up the domains that are left, and adds their outcomes to those known. */
  async function lookUp(
    { id, data: { pending } }: TakenChunk,
    { left, known, parked, lock, isWanted, calls }: ChunkWork & LookUpOptions,
  ): Promise<void> {
    let open = left.size;
    onLeft(open);
    try {
      await handle(
        { domains: [...left.keys()], allowance: calls?.allowance, counters: calls?.counters },
        async (outcomes) => {
          calls?.told(outcomes);
          open -= outcomes.length;
          onLeft(-outcomes.length);
          const ended = outcomes.filter((each) => {
            const dueMs = parked && dueOf(each, pending);
            if (dueMs !== undefined) parked?.set(each.domain, dueMs);
            return dueMs === undefined;
          });
          const travelling = ended.map((each) => ({
            data: toData(each, left.get(each.domain)),
            shape: each.shape,
          }));
          for (const { data } of travelling) known.set(data.domain, data);
          // Another worker may have finished the chunk. A log begun anew would never be removed.
          if (!lock.isOurs()) return;
          await Promise.all(travelling.map(({ data, shape }) => log.add(id, data, shape)));
        },
        isWanted,
      );
    } finally {
      onLeft(-open);
    }
  }

  /** When a lookup of no run is asked again; undefined when its outcome is what it is. */
  function dueOf(outcome: Outcome, before: PendingSince | undefined): number | undefined {
    if (outcome.status !== 'pending') return undefined;
    const nowMs = now();
    const { sinceMs = nowMs, asks = 0 } = before ?? {};
    const { retryAfterMs } = outcome;
    return nextAskMs({ sinceMs, asks: asks + 1, nowMs, retryAfterMs, maxPendingMs });
  }

  async function settle(
    chunk: TakenChunk,
    taken: TakenJob,
    { left, known, parked = new Map() }: ChunkWork,
  ): Promise<void> {
    const outcomes = [...known.values()];
    if (taken.lock.isOurs()) {
      const open = [...left].filter(([domain]) => !known.has(domain));
      const notAsked = open.filter(([domain]) => !parked.has(domain)).map(([, text]) => text);
      const pending = open.filter(([domain]) => parked.has(domain)).map(([, text]) => text);
      if (pending.length > 0) {
        const { sinceMs = now(), asks = 0 } = chunk.data.pending ?? {};
        // One chunk for all of them, when the last of them is due.
        const dueMs = Math.max(...parked.values());
        await returns.park(chunk, pending, { dueMs, sinceMs, asks: asks + 1 });
      }
      if (notAsked.length > 0) await returns.giveBack(chunk, notAsked);
      return await finish(chunk, taken, outcomes);
    }
    onNotice(describeCutOff(chunk.id));
    // Others read the outcomes from the log. They must be sent from here only if the chunk is gone,
    // because a Redis without persistence lost it or because another worker has finished it.
    if ((await taken.job.getState()) !== 'unknown') return;
    await log.remove(chunk.id);
    if (!(await sender.isWaitedFor(chunk.data.replyTo))) return;
    await Promise.all(outcomes.map((each) => log.add(chunk.id, each)));
    const isSent = await sender.send({ ...addressOf(chunk), outcomes });
    if (!isSent || !isOfRun(chunk)) await log.remove(chunk.id);
  }

  async function finish(
    chunk: TakenChunk,
    { job, token }: TakenJob,
    outcomes: readonly OutcomeData[],
  ): Promise<void> {
    await sender.send({ ...addressOf(chunk), outcomes });
    // A run reads the log when it gets the reply, and then removes it.
    const isReadLater = isOfRun(chunk) && outcomes.length > 0;
    if (!isReadLater) await log.expireSoon(chunk.id);
    await job.moveToCompleted(undefined, token, false);
    if (!isReadLater) await log.remove(chunk.id);
  }

  async function refuse({ job, token }: TakenJob, error: string): Promise<void> {
    const id = job.id ?? '';
    onNotice(`Job ${id} was refused: ${error}.`);
    const to = { chunk: id, addedAtMs: job.timestamp, ...addresseeOf(job.data, id) };
    await sender.send({ ...to, outcomes: [], error });
    await job.moveToFailed(new UnrecoverableError(error), token, false);
  }

  /** Ends the lookups that are left as failed, without a call. */
  async function fail(id: string, { left, known }: ChunkWork, reason: string): Promise<void> {
    const why = { status: 'failed', reason, nowMs: now() } as const;
    const outcomes = [...left.keys()].map((domain) => withoutCall(domain, why));
    for (const each of outcomes) known.set(each.domain, each);
    await Promise.all(outcomes.map((each) => log.add(id, each)));
  }

  return run;
}

interface ChunkWork {
  readonly left: ReadonlyMap<string, string>;
  readonly known: Map<string, OutcomeData>;
  /** Pending lookups, with when they are due; undefined when the run sees to them. */
  readonly parked?: Map<string, number> | undefined;
}

interface LookUpOptions {
  readonly lock: ChunkLock;
  /** Whether lookups may still start. */
  readonly isWanted: () => boolean;
  readonly calls: RunCalls | undefined;
}

/** The run that waits for a chunk, if any. */
function runOf(data: unknown): string | undefined {
  const replyTo = replyToOf(data);
  return replyTo === undefined ? undefined : findRunId(replyTo);
}

function isOfRun({ data }: TakenChunk): boolean {
  return data.replyTo !== undefined && findRunId(data.replyTo) !== undefined;
}

function addressOf({ id, data, addedAtMs }: TakenChunk): Omit<ChunkOutcomes, 'outcomes'> {
  return { chunk: id, addedAtMs, replyTo: data.replyTo, ref: data.ref };
}
