import type { CallLedger } from '../../calls/budget.ts';
import type { Reply, Stall } from '../../calls/lookup-queue.ts';
import {
  addCallsOf,
  type CallCounters,
  type CallsMade,
  createCallCounters,
  createOutcomeCounts,
} from '../../calls/outcome.ts';
import { headAt } from '../../collector/asked-apis.ts';
import { createCollector, type KeptOutcome } from '../../collector/collect.ts';
import { SameRecords } from '../../collector/same-records.ts';
import type { BrandfillError } from '../../common/errors.ts';
import { unlessAborted, within } from '../../common/lifetime.ts';
import { createChange } from '../../common/run-control.ts';
import { Parking, pendingMs } from '../../queue/parking.ts';
import type { FoundOut } from '../../watch/findings.ts';
import type { RunView } from '../../watch/run-view.ts';
import { systemClock } from '../../worker/clock.ts';
import type { Limit, PaceDescription } from '../../worker/pace-memory.ts';
import { createStopSwitch, type Stop } from '../../worker/stop-switch.ts';
import type { LocalWorker } from '../local-worker.ts';
import type { ApiOfRun, OpenedList } from '../open.ts';
import { notify } from '../run-context.ts';

export interface SessionOptions extends Pick<OpenedList, 'startedAtMs' | 'now'> {
  /** How many rows have a domain. */
  readonly rowsOf: (domain: string) => number;
}

const DRAIN_MS = 10_000;
const LONGEST_READ_MS = 2_000;

/** What makes the lookups of a session, once it is open. */
export interface LookupParts {
  /** The worker of this process, which may have nothing to do. */
  readonly local: Pick<LocalWorker, 'gate' | 'counters' | 'findings' | 'useful'>;
  /** Why nothing comes from the queue. @default something comes */
  readonly stall?: (() => Stall | undefined) | undefined;
}

/**
 * The lookups of a run at one API: what is outstanding, what came of it, and the stop. An outcome
 * takes one way, and is counted once, when it is stored.
 *
 * ```text
 *   due ──given out──▶ outstanding ──outcome──▶ put into the store ──committed──▶ counted
 *                        ▲     │ pending
 *                        └─due─┴──▶ parked ──the run ends, or it waited too long──▶ as any outcome
 * ```
 */
export class LookupSession {
  readonly api: ApiOfRun;
  readonly due: number;
  /** Domains under way, those that are parked included. */
  readonly outstanding = new Outstanding();
  readonly stopSwitch = createStopSwitch();
  /** Receives outcomes, and keeps those that are pending until they are due. */
  readonly parking: Parking;
  /** Outcomes that are stored, and the rows of their domains. */
  readonly outcomes = createOutcomeCounts();
  readonly rows = createOutcomeCounts();
  /** Those outcomes together. */
  done = 0;
  parts: LookupParts | undefined;
  /** Of the bound of all runs with the credential, read at the end. */
  callsPer: RunView['callsPer'];
  readonly #records = new SameRecords();
  readonly #rowsOf: SessionOptions['rowsOf'];
  /** Calls that outcomes tell of, by any worker. */
  readonly #told = createCallCounters();
  #storeFailure: BrandfillError | undefined;
  #made: CallsMade = createCallCounters();

  /** @param due how many domains are to be asked about */
  constructor(api: ApiOfRun, due: number, { rowsOf, startedAtMs, now }: SessionOptions) {
    const { store, job } = api;
    const { outstanding, stopSwitch } = this;
    this.api = api;
    this.due = due;
    this.#rowsOf = rowsOf;
    const collect = createCollector({
      store,
      // What a queue has is kept there until it is stored.
      isKeptElsewhere: this.isShared,
      outstanding,
      startedAtMs,
      now,
      onOutcome: (kept) => this.#count(kept),
    });
    this.parking = new Parking({
      maxPendingMs: pendingMs(job.settings.maxWait),
      collect: watchOutcomes(collect, api, () => stopSwitch.stop({ reason: 'max_failed' })),
      outstanding,
      onParked: (outcome) => addCallsOf(outcome, this.#told),
      now,
      sleep: (ms, signal) => systemClock.sleep(ms, signal),
      signal: stopSwitch.noNewCall,
    });
  }

  /** Whether workers of a queue make the lookups. */
  get isShared(): boolean {
    return this.api.job.settings.queue !== undefined;
  }

  /** Why the API was not asked further. */
  get stopped(): Stop | undefined {
    const { stopped } = this.stopSwitch;
    const { isOneOfSeveral, name } = this.api;
    return stopped && isOneOfSeveral ? { ...stopped, source: name } : stopped;
  }

  /** Calls so far, by any worker. */
  get counters(): Readonly<CallCounters> {
    if (this.parts && !this.isShared) return this.parts.local.counters;
    const { calls, retries, throttled, billedMicros } = this.#told;
    return {
      ...this.#told,
      calls: Math.max(Math.round(calls), this.#made.calls),
      retries: Math.round(retries),
      throttled: Math.max(Math.round(throttled), this.#made.throttled),
      billedMicros: Math.max(billedMicros, this.#made.billedMicros),
    };
  }

  /** What is known of the pace. */
  get pace(): PaceDescription | undefined {
    return this.parts?.local.gate.describe();
  }

  /** What its calls were held to; undefined when none was made. */
  get limit(): Limit | undefined {
    return this.counters.calls > 0 ? this.pace?.limit : undefined;
  }

  /** What the answers showed of the API. */
  get foundOut(): FoundOut {
    const { isOneOfSeveral, name } = this.api;
    return {
      findings: this.parts?.local.findings() ?? [],
      limit: this.limit,
      sameRecord: this.#records.most(),
      source: isOneOfSeveral ? name : undefined,
    };
  }

  /** Whether the store has an outcome by now that counts. */
  isFresh(domain: string): boolean {
    return headAt(this.api, domain) !== undefined;
  }

  /**
   * Does what only a store that can be written needs; its failure is no other error, but the reason
   * of the stop.
   */
  async unlessUnwritable(work: () => Promise<void>): Promise<void> {
    try {
      if (!this.#storeFailure) await work();
    } catch (error) {
      if (error !== this.#storeFailure) throw error;
    }
  }

  /**
   * Stops with the signal of the run, whose calls under way then get ten seconds, and with the
   * store. Reports stops, except for errors, which are reported separately, and pauses. Returns a
   * function that ends that.
   */
  listen(): () => void {
    const { stopSwitch } = this;
    const { signal, onEvent, control } = this.api.context;
    let drain: NodeJS.Timeout | undefined;
    const interrupt = (): void => {
      stopSwitch.stop({ reason: 'interrupted' });
      drain = setTimeout(() => stopSwitch.giveUp({ reason: 'interrupted' }), DRAIN_MS);
    };
    stopSwitch.noNewCall.addEventListener('abort', () => {
      const { stopped } = this;
      if (stopped && stopped.reason !== 'error') onEvent({ type: 'stopping', stop: stopped });
    });
    void this.api.store.failed.then((error) => {
      this.#storeFailure = error;
      stopSwitch.stop({ reason: 'unusable_store', storeError: error.message });
    });
    signal.addEventListener('abort', interrupt);
    if (signal.aborted) interrupt();
    let isPaused = false;
    const tellPause = (): void => {
      if (!control || control.isPaused === isPaused || control.stopped.aborted) return;
      ({ isPaused } = control);
      const what = isPaused ? 'Paused: no new call starts until it goes on.' : 'It goes on.';
      notify({ onEvent }, what);
    };
    tellPause(); // it may have been paused meanwhile
    const endControl = control?.onChange(tellPause);
    return () => {
      clearTimeout(drain);
      signal.removeEventListener('abort', interrupt);
      endControl?.();
    };
  }

  /**
   * Notes how many calls all runs with the credential have made, and how many are left. A ledger
   * that cannot be reached holds up the end of a run by two seconds at most.
   */
  async countCalls(ledger: CallLedger | undefined): Promise<void> {
    const limit = this.api.job.settings.maxCallsPer;
    if (!ledger || !limit) return;
    const read = async (): Promise<void> => {
      const { taken: used, window } = await ledger.read();
      const left = Math.max(0, limit.count - used);
      this.callsPer = { ...limit, used, left, endsAtMs: window.endsAtMs };
    };
    await within(LONGEST_READ_MS, read()).catch(() => {});
  }

  /** Notes the calls that were made at least, whether an outcome tells of them or not. */
  noteMade(made: CallsMade): void {
    this.#made = made;
  }

  #count(kept: KeptOutcome): void {
    const { domain, status, record } = kept;
    const rows = this.#rowsOf(domain);
    this.done += 1;
    this.outcomes[status] += 1;
    this.rows[status] += rows;
    if (record !== undefined) this.#records.add(record, domain, rows);
    addCallsOf(kept, this.#told);
  }
}

/** Domains that were given out, until they have an outcome. */
class Outstanding extends Set<string> {
  readonly #change = createChange();

  override delete(domain: string): boolean {
    const wasThere = super.delete(domain);
    if (wasThere && this.size === 0) this.#change.notify();
    return wasThere;
  }

  /** Waits until there is none, or the signal fires. */
  async untilEmpty(signal: AbortSignal): Promise<void> {
    while (this.size > 0 && !signal.aborted) {
      await unlessAborted(this.#change.wait(), signal).catch(() => {}); // aborted
    }
  }
}

/** Fewer lookups than this say nothing about the rest. */
const LEAST_LOOKUPS = 200;

/**
 * Stops a run when too many lookups fail. A domain that failed in the last run too is left out of
 * the share: counted as a success, it would make room for new failures.
 */
export function watchOutcomes(
  collect: Reply,
  { job, store }: Pick<ApiOfRun, 'job' | 'store'>,
  stop: () => void,
): Reply {
  let lookups = 0;
  let failures = 0;
  return (outcomes) => {
    for (const { domain, status } of outcomes) {
      if (status === 'pending') continue;
      const isFailure = status === 'failed';
      if (isFailure && store.findHead(domain)?.status === 'failed') continue;
      lookups += 1;
      if (isFailure) failures += 1;
      // Now, because more domains would be asked until this outcome is stored.
      if (lookups >= LEAST_LOOKUPS && failures > job.settings.maxFailed * lookups) stop();
    }
    return collect(outcomes);
  };
}
