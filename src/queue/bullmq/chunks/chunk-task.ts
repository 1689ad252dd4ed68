import { type Job, UnrecoverableError } from 'bullmq';
import type { Outcome } from '../../../brand/outcome.ts';
import type { HandleChunk } from '../../lookup-queue.ts';
import { nextAskMs, type PendingSince } from '../../parking.ts';
import { BACKFILLS } from '../bulk-lookups.ts';
import {
  addresseeOf,
  FOREIGN_TO_RUN,
  isForeignToRun,
  type LookupsData,
  type OutcomeData,
  parseLookups,
  replyToOf,
  toData,
  withoutCall,
} from '../contract.ts';
import { findRunId } from '../names.ts';
import type { PausedRuns } from '../runs/pauses.ts';
import type { CallsOfChunk } from '../runs/run-calls.ts';
import { type ChunkLease, describeCutOff } from './leases.ts';
import type { OutcomeStreams, StreamedOutcome } from './outcome-stream.ts';
import type { ChunkReturns, Recipient, Recipients, TakenChunk } from './recipients.ts';

/** Works on a chunk, from its job to its outcomes. */
export type ChunkTask = (taken: TakenJob) => Promise<void>;

export interface TakenJob {
  readonly job: Job;
  /** The token with which the job was taken and must be finished. */
  readonly token: string;
  readonly lease: ChunkLease;
}

export interface ChunkTaskOptions {
  readonly handle: HandleChunk;
  /** Makes the key of a lookup from a text of the chunk, or says why there is none. */
  readonly normalize: (text: string) => { readonly domain: string } | { readonly invalid: string };
  /** The API that this worker asks. */
  readonly api: string;
  /** Counts and bounds the calls that are made for a chunk of a run. */
  readonly countCalls: (data: LookupsData) => Promise<CallsOfChunk | undefined>;
  /** Whether a chunk for another API is refused. Otherwise it is left to other workers. */
  readonly mayRefuse: (chunk: string, api: string) => Promise<boolean>;
  /** Returns a chunk to the queue unchanged, for other workers. */
  readonly returnJob: (taken: TakenJob) => Promise<void>;
  /** Delays a chunk for a moment, so that this or another worker takes it then. */
  readonly delay: (taken: TakenJob) => Promise<void>;
  /** Parks a chunk until backfills are resumed. */
  readonly delayUntilResumed: (taken: TakenJob) => Promise<void>;
  readonly recipients: Pick<Recipients, 'of' | 'refuse'>;
  readonly streams: Pick<OutcomeStreams, 'room'>;
  readonly returns: ChunkReturns;
  /** Runs that make no calls at present. Their chunks wait, and lookups that are not begun go back. */
  readonly paused: PausedRuns;
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

/** After so many lost workers a chunk is poison: it may be what kills them. */
const MOST_LOST_WORKERS = 3;

/**
 * The life of a chunk at a worker:
 *
 *   taken ─┬─ its run is paused or stopping ──────────────► delayed for a second
 *          ├─ of no run, and those are paused ────────────► parked until they are resumed
 *          ├─ breaks the contract ────────────────────────► refused
 *          ├─ no longer awaited ──────────────────────────► dropped
 *          ├─ for another API ─┬─ which has a worker ─────► left to it
 *          │                   └─ which has none ─────────► its lookups fail
 *          ├─ has lost three workers ─┬─ for the first time ► cut into poison chunks, of one lookup each
 *          │                          └─ a poison chunk ──► its lookup fails
 *          ├─ a poison chunk, beside another one ─────────► delayed for a second
 *          └─ else: looked up, outcomes reported as they come
 *                 ├─ all have an outcome ─────────────────► finished
 *                 ├─ some were not begun ─────────────────► those return as a chunk of their own
 *                 ├─ some are pending, and of no run ─────► those return as a chunk that is due later
 *                 └─ the lease ran out ───────────────────► left to the worker that has it now
 *
 * Of poison chunks only one is looked up at a time: a worker that is lost then speaks against that one.
 */
export function createChunkTask(options: ChunkTaskOptions): ChunkTask {
  const {
    handle,
    normalize,
    api,
    countCalls,
    mayRefuse,
    returnJob,
    delayUntilResumed,
    recipients,
  } = options;
  const { streams, returns, paused, isStopping, onLeft, onNotice, now, maxPendingMs = 0 } = options;
  let hasPoison = false;

  async function run(taken: TakenJob): Promise<void> {
    const runId = findRunId(replyToOf(taken.job.data) ?? '');
    const owner = runId ?? BACKFILLS;
    await paused.watch(owner);
    try {
      if (!paused.has(owner)) await work(taken, () => paused.has(owner));
      else if (runId === undefined) await delayUntilResumed(taken);
      else await options.delay(taken);
    } finally {
      paused.unwatch(owner);
    }
  }

  async function work(taken: TakenJob, isPaused: () => boolean): Promise<void> {
    const { job, token } = taken;
    const id = job.id ?? '';
    // A chunk whose children in a flow have failed can only fail.
    const data = job.deferredFailure || parseLookups(job.data);
    if (typeof data === 'string') return await refuse(taken, data);
    // The priority with which it was added: a worker may have brought it forward since.
    const { priority = 0 } = job.opts;
    const chunk: TakenChunk = { id, data, addedAtMs: job.timestamp, priority };
    const recipient = recipients.of(chunk);
    const opened = await recipient.open();
    if (!opened && isForeignToRun(id, data)) return await refuse(taken, FOREIGN_TO_RUN);
    const complete = (): Promise<unknown> => job.moveToCompleted(undefined, token, false);
    // The worker was killed before it could remove the job, or the run is over.
    if (!opened) return void (await complete());
    const known = new Map(opened.known.map((outcome) => [outcome.domain, outcome]));
    const left = new Map<string, string>();
    for (const text of opened.texts) {
      const found = normalize(text);
      if ('invalid' in found) {
        const why = { status: 'invalid', reason: found.invalid, nowMs: now() } as const;
        known.set(text, withoutCall(text, why));
      } else if (!known.has(found.domain)) left.set(found.domain, text);
    }
    const finish = (): Promise<void> => recipient.finish([...known.values()], complete);
    /** Ends the lookups that are left as failed, without a call. */
    const fail = async (reason: string): Promise<void> => {
      const why = { status: 'failed', reason, nowMs: now() } as const;
      const failed = [...left.keys()].map((domain) => withoutCall(domain, why));
      for (const outcome of failed) known.set(outcome.domain, outcome);
      await recipient.report(failed.map(withoutShape));
      await finish();
    };

    if (data.api !== undefined && data.api !== api) {
      if (!(await mayRefuse(id, data.api))) return await returnJob(taken);
      onNotice(`Chunk ${id} is meant for another API and was refused; see --base-url and --param.`);
      return await fail('worker_has_other_api');
    }
    if (job.stalledCounter >= MOST_LOST_WORKERS && left.size > 0) {
      if (data.poison === true && left.size === 1) {
        onNotice(`Chunk ${id} has lost every worker that took it, and is given up.`);
        return await fail('worker_lost');
      }
      onNotice(
        `Chunk ${id} lost its worker ${job.stalledCounter} times: its lookups are now made one at a time.`,
      );
      await returns.cut(chunk, [...left.values()]);
      return await finish();
    }
    const isPoison = data.poison === true;
    if (isPoison && hasPoison) return await options.delay(taken);
    hasPoison ||= isPoison;
    try {
      const isWanted = (): boolean => !isStopping() && taken.lease.isOurs() && !isPaused();
      const parked = await lookUp(chunk, { left, known, recipient, lease: taken.lease, isWanted });
      if (!taken.lease.isOurs()) {
        return await leaveToOthers(taken, { chunk, recipient, outcomes: [...known.values()] });
      }
      await returnRest(chunk, { left, known, parked });
      await finish();
    } finally {
      if (isPoison) hasPoison = false;
    }
  }

  /**
   * Looks up the domains that are left, and adds their outcomes to those known. Returns when those that
   * are pending are due. Resolves when all outcomes are reported.
   */
  async function lookUp(
    { data }: TakenChunk,
    { left, known, recipient, lease, isWanted }: LookingUp,
  ): Promise<ReadonlyMap<string, number>> {
    const parked = new Map<string, number>();
    const calls = await countCalls(data);
    const reports = new Set<Promise<void>>();
    let open = left.size;
    onLeft(open);
    try {
      await handle(
        { domains: [...left.keys()], budget: calls?.budget, counters: calls?.counters },
        async (outcomes) => {
          calls?.reported(outcomes);
          open -= outcomes.length;
          onLeft(-outcomes.length);
          const ended: StreamedOutcome[] = [];
          for (const outcome of outcomes) {
            const dueMs = recipient.takesLate ? undefined : dueOf(outcome, data.pending);
            if (dueMs !== undefined) parked.set(outcome.domain, dueMs);
            else
              ended.push({ data: toData(outcome, left.get(outcome.domain)), shape: outcome.shape });
          }
          for (const each of ended) known.set(each.data.domain, each.data);
          // Another worker may have finished the chunk. A stream begun anew would only be in the way.
          if (!lease.isOurs() && !recipient.takesLate) return;
          reports.add(recipient.report(ended, calls?.takeNote));
          await streams.room();
        },
        isWanted,
      );
      await Promise.all(reports);
      const note = calls?.takeNote();
      if (note) await recipient.report([], () => note);
    } finally {
      onLeft(-open);
      await calls?.close();
    }
    return parked;
  }

  /** When a lookup of no run is asked again; undefined when its outcome is what it is. */
  function dueOf(outcome: Outcome, before: PendingSince | undefined): number | undefined {
    if (outcome.status !== 'pending') return undefined;
    const nowMs = now();
    const { sinceMs = nowMs, asks = 0 } = before ?? {};
    const { retryAfterMs } = outcome;
    return nextAskMs({ sinceMs, asks: asks + 1, nowMs, retryAfterMs, maxPendingMs });
  }

  async function returnRest(
    chunk: TakenChunk,
    { left, known, parked }: Pick<LookingUp, 'left' | 'known'> & Parked,
  ): Promise<void> {
    const open = [...left].filter(([domain]) => !known.has(domain));
    const notAsked = open.filter(([domain]) => !parked.has(domain)).map(([, text]) => text);
    const pending = open.filter(([domain]) => parked.has(domain)).map(([, text]) => text);
    if (pending.length > 0) {
      const { sinceMs = now(), asks = 0 } = chunk.data.pending ?? {};
      // One chunk for all of them, when the last of them is due.
      const dueMs = Math.max(...parked.values());
      await returns.park(chunk, pending, { dueMs, sinceMs, asks: asks + 1 });
    }
    if (notAsked.length > 0) await returns.returnUnasked(chunk, notAsked);
  }

  /**
   * Others find the outcomes in the stream. They must be sent from here only if the chunk is gone, because
   * a Redis without persistence lost it or because another worker has finished it.
   */
  async function leaveToOthers(
    { job }: TakenJob,
    { chunk, recipient, outcomes }: LeavingToOthers,
  ): Promise<void> {
    onNotice(describeCutOff(chunk.id));
    if (recipient.takesLate || (await job.getState()) !== 'unknown') return;
    await recipient.finish(outcomes, async () => {});
  }

  async function refuse({ job, token }: TakenJob, error: string): Promise<void> {
    const id = job.id ?? '';
    onNotice(`Job ${id} was refused: ${error}.`);
    await recipients.refuse({ id, addedAtMs: job.timestamp, ...addresseeOf(job.data, id), error });
    await job.moveToFailed(new UnrecoverableError(error), token, false);
  }

  return run;
}

interface LookingUp {
  /** The texts of the domains that are left. */
  readonly left: ReadonlyMap<string, string>;
  readonly known: Map<string, OutcomeData>;
  readonly recipient: Recipient;
  readonly lease: ChunkLease;
  /** Whether lookups may still start. */
  readonly isWanted: () => boolean;
}

interface Parked {
  /** When pending lookups are due, in milliseconds since 1970. Runs see to their own. */
  readonly parked: ReadonlyMap<string, number>;
}

interface LeavingToOthers {
  readonly chunk: TakenChunk;
  readonly recipient: Recipient;
  readonly outcomes: readonly OutcomeData[];
}

function withoutShape(data: OutcomeData): StreamedOutcome {
  return { data, shape: undefined };
}
