import { type Job, UnrecoverableError } from 'bullmq';
import type { HandleChunk } from '../../lookup-queue.ts';
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
import type { OutcomeLog, ReadLog } from './outcome-log.ts';
import type { ChunkOutcomes, OutcomeSender } from './outcome-sender.ts';
import type { Quarantine } from './quarantine.ts';

/** Does what a chunk wants, from its job to its outcomes. */
export type ChunkTask = (taken: TakenJob) => Promise<void>;

export interface TakenJob {
  readonly job: Job;
  /** With which it was taken, and has to be finished. */
  readonly token: string;
  readonly lock: ChunkLock;
}

export interface ChunkTaskOptions {
  readonly handle: HandleChunk;
  /** Makes the key of a lookup from what a chunk has, or says why there is none. */
  readonly normalize: (text: string) => { readonly domain: string } | { readonly invalid: string };
  /** The API that this worker asks. */
  readonly api: string;
  /** Counts the calls that are made for a chunk of a run, and bounds them. */
  readonly countCalls: (data: LookupsData) => Promise<RunCalls | undefined>;
  /** Whether a chunk that means another one is refused. Else it is left to others. */
  readonly mayRefuse: (chunk: string, api: string) => Promise<boolean>;
  /** Puts a chunk back on the queue as it is, for others. */
  readonly leave: (taken: TakenJob) => Promise<void>;
  readonly log: OutcomeLog;
  readonly readLog: ReadLog;
  readonly sender: OutcomeSender;
  readonly returns: ChunkReturns;
  readonly quarantine: Quarantine;
  /** The domains of a chunk whose outcomes somebody still waits for; undefined when nobody does. */
  readonly findExpected: (
    chunk: string,
    data: LookupsData,
  ) => Promise<readonly string[] | undefined>;
  /** Runs that make no call for now; their chunks wait, and what is not begun goes back. */
  readonly paused: PausedRuns;
  /** Has a chunk wait whose run is paused or stopping, or that belongs to none while those are paused. */
  readonly setAside: (taken: TakenJob, runId: string | undefined) => Promise<void>;
  /** True when no further lookup may start. */
  readonly isStopping: () => boolean;
  /** Told how many lookups more (or, negative, fewer) are left to do. */
  readonly onLeft: (change: number) => void;
  readonly onNotice: (message: string) => void;
  /** The time that all workers share: those of their machines may differ. */
  readonly now: () => number;
}

const MOST_LOST_WORKERS = 3;

/**
 * The life of a chunk at a worker:
 *
 * 0. While its run is paused or stopping, or those are paused that belong to none, it is set aside.
 * 1. It is refused when it breaks the contract, and dropped when nobody waits for it any more. If it
 *    means another API it is left to the workers that ask that one, and refused when there are none.
 * 2. What an earlier worker found out before it was lost is read from the log.
 * 3. If it has lost three workers, it goes back in halves. Each of them is looked up alone: if its
 *    worker is lost again it is cut further, down to the domain that is given up after three times.
 *    Else the rest is looked up.
 * 4. What was not asked, because this worker stops, goes back as a chunk of its own.
 * 5. The outcomes are sent, and only then is the job completed. Killed at any point before, it comes
 *    again to another worker.
 *
 * A worker that lost its claim meanwhile leaves the chunk to the one that has it.
 */
export function createChunkTask(options: ChunkTaskOptions): ChunkTask {
  const { handle, normalize, api, findExpected, countCalls, mayRefuse, leave, setAside } = options;
  const { log, readLog, sender, returns, quarantine, paused, isStopping, onLeft, onNotice, now } =
    options;

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
    // That with which it came: a worker may have brought it before others since.
    const { priority = 0 } = job.opts;
    // In this order: the run strikes a chunk before it removes the log, so that what has none is not expected.
    const logged = await readLog(id);
    const domains = await findExpected(id, data);
    const expected = { ...data, domains: domains ?? [] };
    const chunk: TakenChunk = { id, data: expected, addedAtMs: job.timestamp, priority };
    if (!domains && isForeignToRun(id, data)) return await refuse(taken, FOREIGN_TO_RUN);
    // It was answered, but its worker was killed before it could say so; or its run is over.
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
      await lookUp(id, { left, known, lock: taken.lock, isWanted, calls });
      await calls?.settle();
      await settle(chunk, taken, { left, known });
    };
    const { stalledCounter: lostWorkers } = job;
    const record = { domains: left.size, isSuspect: data.suspect === true, lostWorkers };
    switch (judge({ ...record, lonelyAttempts: logged.lonelyAttempts })) {
      case 'cut':
        onNotice(`Chunk ${id} lost its worker ${job.stalledCounter} times: cut in halves.`);
        await returns.cutInHalves(chunk, [...left.values()]);
        return await finish(chunk, taken, [...known.values()]);
      case 'give_up':
        onNotice(`Chunk ${id} loses every worker that takes it: given up.`);
        await fail(id, { left, known }, 'worker_lost');
        return await finish(chunk, taken, [...known.values()]);
      case 'look_up_alone':
        return await quarantine.alone(async () => {
          await log.addLonely(id);
          await makeLookups();
        });
      case 'look_up':
        return await quarantine.together(makeLookups);
    }
  }

  /** Domains that are not known yet, with the text they were given as. Invalid ones become known. */
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

  /** Finds out what is left, and adds it to what is known. */
  async function lookUp(
    id: string,
    { left, known, lock, isWanted, calls }: ChunkWork & LookUpOptions,
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
          // Whoever has it now may have finished it: nobody would remove a log that begins anew.
          const isOurs = lock.isOurs();
          const noted = outcomes.map((each) => {
            const travelling = toData(each, left.get(each.domain));
            known.set(each.domain, travelling);
            return isOurs ? log.add(id, travelling, each.shape) : Promise.resolve();
          });
          await Promise.all(noted);
        },
        isWanted,
      );
    } finally {
      onLeft(-open);
    }
  }

  async function settle(
    chunk: TakenChunk,
    taken: TakenJob,
    { left, known }: ChunkWork,
  ): Promise<void> {
    const outcomes = [...known.values()];
    if (taken.lock.isOurs()) {
      const notAsked = [...left].filter(([domain]) => !known.has(domain)).map(([, text]) => text);
      if (notAsked.length > 0) await returns.giveBack(chunk, notAsked);
      return await finish(chunk, taken, outcomes);
    }
    onNotice(describeCutOff(chunk.id));
    // Others read from the log what was found out. Only if the chunk is gone, with all that a Redis
    // without persistence had, or because somebody has finished it, must it be sent from here.
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
    // A run reads the log when it is told, and removes it then.
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

  /** What is left of a chunk ends without a call. */
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
}

interface LookUpOptions {
  readonly lock: ChunkLock;
  /** Whether lookups may still start. */
  readonly isWanted: () => boolean;
  readonly calls: RunCalls | undefined;
}

/** What speaks against a chunk. */
interface ChunkRecord {
  readonly domains: number;
  readonly isSuspect: boolean;
  readonly lostWorkers: number;
  readonly lonelyAttempts: number;
}

function judge(record: ChunkRecord): 'look_up' | 'look_up_alone' | 'cut' | 'give_up' {
  const { domains, isSuspect, lostWorkers, lonelyAttempts } = record;
  const isBad = lostWorkers >= MOST_LOST_WORKERS;
  if (domains > 1) {
    if (isSuspect ? lonelyAttempts > 0 : isBad) return 'cut';
    return isSuspect ? 'look_up_alone' : 'look_up';
  }
  if (domains === 0 || (!isSuspect && !isBad)) return 'look_up';
  return lonelyAttempts >= MOST_LOST_WORKERS ? 'give_up' : 'look_up_alone';
}

/** The run that waits for a chunk, if one does. */
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
