import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { Chunk, Reply } from '../calls/lookup-queue.ts';
import type { Outcome } from '../calls/outcome.ts';
import { normalizeDomain } from '../rows/domain/domain.ts';
import type { WatchedBudget } from './call-ledger.ts';
import { type LookupsData, type OutcomeData, toData, toOutcome } from './contract.ts';
import { LOCK_MS } from './lock-time.ts';
import type { AnsweredJob, OutcomeWriter } from './outcome-writer.ts';
import { askAgain, type Pending } from './parking.ts';
import type { WatchedRun } from './watched-runs.ts';

/** A job as BullMQ gives it. */
interface TakenJobOptions {
  readonly job: Job<unknown>;
  /** The lock with which this worker has it. */
  readonly token: string;
  readonly data: LookupsData;
  /** The run of ours that added it. */
  readonly run: WatchedRun | undefined;
}

/** What all jobs of a worker share. */
export interface TakenJobContext {
  readonly writer: OutcomeWriter;
  /** The time that all workers share, in milliseconds since 1970. */
  readonly now: () => number;
  /** How long lookups of no run may be pending. */
  readonly maxPendingMs: number;
  /** Has idle workers look for jobs, which they would do only seconds later. */
  readonly wakeOthers: () => Promise<unknown>;
}

/**
 * With which so many workers were lost, a job is looked up one domain at a time, and a domain given
 * up.
 */
const MOST_LOSSES = 2;

/**
 * A job that this worker has: what of it is to be looked up, what is answered, and what is left.
 *
 * What is answered leaves the job's data in the same step in which it reaches the stream. Of a job
 * with which workers were lost one domain at a time is looked up: so the first of those that are
 * left is to blame.
 */
export class TakenJob implements AnsweredJob {
  readonly id: string;
  readonly token: string;
  readonly data: LookupsData;
  readonly run: WatchedRun | undefined;
  readonly budget: WatchedBudget | undefined;
  /** Whether one domain at a time is looked up. */
  readonly isAlone: boolean;
  /** False as soon as it is given back or put off. */
  isHeld = true;
  batch = '';
  /** Whether it may be another worker's, or Redis has lost some of its outcomes. */
  isLost = false;
  readonly #job: Job<unknown>;
  readonly #context: TakenJobContext;
  /** The texts of domains that have no outcome. */
  readonly #texts = new Map<string, string>();
  /** The outcomes of texts that are no domains. */
  readonly #invalid: OutcomeData[] = [];
  readonly #sent: Promise<void>[] = [];
  /** The last of those that are asked again. */
  #pending: Pending | undefined;

  constructor({ job, token, data, run }: TakenJobOptions, context: TakenJobContext) {
    this.#job = job;
    this.#context = context;
    this.id = job.id ?? '';
    this.token = token;
    this.run = run;
    this.budget = run?.budget;
    this.isAlone = job.stalledCounter >= MOST_LOSSES;
    for (const text of data.domains) {
      const found = normalizeDomain(text);
      if ('invalid' in found) this.#invalid.push(this.#withoutCall(text, 'invalid', found.invalid));
      else if (!this.#texts.has(found.domain)) this.#texts.set(found.domain, text);
    }
    this.data = { ...data, alone: this.#findAlone(data) };
  }

  /** What of its domains has no outcome yet. */
  get left(): readonly string[] {
    return [...this.#texts.values()];
  }

  /**
   * Looks up what is left, or the next domain if that is alone. With one with which workers are
   * lost again and again it is given up.
   *
   * @param onGivenUp called before, with that
   */
  async lookUp(
    handle: (chunk: Chunk, reply: Reply) => Promise<void>,
    onGivenUp: (domain: string) => void,
  ): Promise<void> {
    const { alone, run, ref } = this.data;
    this.#send(this.#invalid);
    if (alone && this.#job.stalledCounter >= alone.since + MOST_LOSSES) {
      onGivenUp(alone.domain);
      this.#reply([toOutcome(this.#withoutCall(alone.domain, 'failed', 'worker_crashed'))]);
    } else {
      if (alone) await this.#job.updateData(this.data);
      const domains = alone ? [alone.domain] : [...this.#texts.keys()];
      const chunk = { domains, budget: this.budget, list: run ?? JSON.stringify(ref) };
      await handle(chunk, async (outcomes) => this.#reply(outcomes));
    }
    void this.#context.writer.flush(); // the next job is taken when this one is done
    await Promise.all(this.#sent);
    await this.budget?.tell(); // calls without an outcome too, while the run still waits for it
  }

  get isAnswered(): boolean {
    return this.#texts.size === 0;
  }

  /** Whether the domain that was alone is answered, and the next one is to be. */
  get isNext(): boolean {
    const { alone } = this.data;
    return alone !== undefined && !this.#texts.has(alone.domain);
  }

  get isPending(): boolean {
    return this.#pending !== undefined;
  }

  /** Whether nobody waits for it any more. */
  get isOver(): boolean {
    return this.run?.isThere === false;
  }

  /** Whether it was taken so long ago that its lock may be over. */
  get isLate(): boolean {
    return Date.now() - (this.#job.processedOn ?? 0) > LOCK_MS / 3;
  }

  /** Puts it back on the queue, unless it is another worker's by now. */
  async giveBack(): Promise<never> {
    this.isHeld = false;
    try {
      await this.#job.moveToWait(this.token);
      await this.#context.wakeOthers();
    } catch (error) {
      if (!this.isLost) throw error;
    }
    throw new WaitingError();
  }

  async putOff(forMs: number): Promise<never> {
    this.isHeld = false;
    await this.#job.moveToDelayed(Date.now() + Math.max(1, forMs), this.token);
    throw new DelayedError();
  }

  /** Until what is pending is due. */
  async putOffPending(): Promise<never> {
    const { now } = this.#context;
    const { dueMs = 0, ...pending } = this.#pending ?? { sinceMs: now(), asks: 1 };
    await this.#job.updateData({ ...this.data, domains: this.left, pending });
    return await this.putOff(dueMs - now());
  }

  #reply(outcomes: readonly Outcome[]): void {
    const ended: OutcomeData[] = [];
    for (const outcome of outcomes) {
      const again = this.#askAgain(outcome);
      if (again) {
        if (again.dueMs >= (this.#pending?.dueMs ?? 0)) this.#pending = again;
        continue;
      }
      const { domain } = outcome;
      ended.push(toData(outcome, this.#texts.get(domain) ?? domain));
      this.#texts.delete(domain);
    }
    this.#send(ended);
  }

  #send(outcomes: readonly OutcomeData[]): void {
    if (outcomes.length > 0) this.#sent.push(this.#context.writer.add(this, outcomes));
  }

  /** Runs park what is pending themselves. */
  #askAgain(outcome: Outcome): Pending | undefined {
    const { run, pending } = this.data;
    if (outcome.status !== 'pending' || run !== undefined) return undefined;
    const { now, maxPendingMs } = this.#context;
    return askAgain(pending, outcome, { nowMs: now(), maxPendingMs });
  }

  #findAlone({ alone }: LookupsData): LookupsData['alone'] {
    const [first] = this.#texts.keys();
    if (!this.isAlone || first === undefined) return undefined;
    const { stalledCounter } = this.#job;
    return alone?.domain === first ? alone : { domain: first, since: stalledCounter };
  }

  /** An outcome that no call was made for. */
  #withoutCall(domain: string, status: 'failed' | 'invalid', reason: string): OutcomeData {
    return { domain, status, reason, attempts: 0, fetchedAtMs: this.#context.now(), json: '' };
  }
}
