import { type BrandClient, createBrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import { joinBudgets, type SharedBudget } from '../calls/budget.ts';
import { createCallCounters } from '../calls/outcome.ts';
import type { CallSettings } from '../options/options.ts';
import type { Api } from '../profile/job.ts';
import { Batches, lookupsAtOnce } from '../worker/batches.ts';
import { type Clock, systemClock } from '../worker/clock.ts';
import { Diagnosis, type DiagnosisOptions } from '../worker/diagnosis.ts';
import { Gate } from '../worker/gate.ts';
import type { PauseGate } from '../worker/gate-options.ts';
import type { LookupContext } from '../worker/lookup.ts';
import { createOwnPace, type PaceHome } from '../worker/own-pace.ts';
import type { Learned } from '../worker/pace-memory.ts';
import type { RedisPaceOptions, SharedPace } from '../worker/redis-pace.ts';
import type { Stop, StopSwitch } from '../worker/stop-switch.ts';
import { Worker } from '../worker/worker.ts';

/** Options that depend on the purpose of the worker. */
export interface LocalWorkerOptions extends Pick<LookupContext, 'onCall'> {
  /** All bound its calls. */
  readonly budgets: readonly SharedBudget[];
  readonly stopSwitch: StopSwitch;
  /** The pace shared by all workers with this credential. @default a pace of its own */
  readonly sharedPace?: SharedPace | undefined;
  /** What is known when answers are weighed. */
  readonly diagnosis?: Omit<DiagnosisOptions, 'onStop' | 'home' | 'nowMs' | 'retries'>;
  /** What an earlier run learned of the pace. @default nothing */
  readonly learned?: Learned | undefined;
  /** Holds all calls up while it is closed. @default calls are never held up */
  readonly pause?: PauseGate | undefined;
  /** Told of oddities in the answers, once each. */
  readonly onNotice: (message: string) => void;
  /** Dates outcomes, in milliseconds since 1970. @default the clock of the machine */
  readonly now?: (() => number) | undefined;
}

/** A worker of this process, with its own connections to the API. */
export type LocalWorker = ReturnType<typeof assembleWorker>;

/** Opens connections to the API, and the pace where it is kept. */
export async function openLocalWorker(
  settings: CallSettings,
  api: Api,
  options: LocalWorkerOptions,
): Promise<LocalWorker> {
  const { concurrency, headers = [] } = settings;
  const { sharedPace, learned } = options;
  const { endpoint, credential } = api;
  const rate = settings.rate === 'auto' ? undefined : settings.rate;
  const clock = systemClock;
  const epochMs = Date.now() - clock.nowMs();
  // First, because a proxy may be refused.
  const client = createBrandClient({
    endpoint,
    credential,
    headers,
    connections: concurrency,
    timeoutMs: settings.timeout,
    onNotice: options.onNotice,
  });
  const home = sharedPace
    ? await openSharedPace(sharedPace, options.onNotice, {
        rate,
        start: endpoint.profile?.startRate,
        clock,
        callers: concurrency,
      })
    : createOwnPace(clock.nowMs(), { rate, learned, epochMs });
  const { unsent } = credential;
  const outside = { unsent, client, home, clock, today: Date.now, random: Math.random };
  return assembleWorker({ settings, endpoint, ...options, ...outside });
}

async function openSharedPace(
  shared: SharedPace,
  onNotice: (message: string) => void,
  options: Pick<RedisPaceOptions, 'rate' | 'start' | 'clock' | 'callers'>,
): Promise<PaceHome> {
  const { exchangeInRedis, RedisPace } = await import('../worker/redis-pace.ts');
  const exchange = exchangeInRedis(shared, onNotice);
  return new RedisPace({ ...options, slowest: shared.slowest, exchange });
}

/** What a worker needs of the world: calls, a pace, time and chance. */
export interface AssembledWorkerOptions
  extends Omit<LocalWorkerOptions, 'sharedPace' | 'learned' | 'onNotice'> {
  readonly settings: Pick<CallSettings, 'concurrency' | 'retries' | 'maxWait' | 'maxOutage'>;
  readonly endpoint: Endpoint;
  /** Why no credential goes with the calls. @default one does */
  readonly unsent?: Stop['unsent'];
  readonly client: BrandClient;
  readonly home: PaceHome;
  readonly clock: Clock;
  /** The time of this machine, in milliseconds since 1970. */
  readonly today: () => number;
  readonly random: () => number;
}

/** Puts the parts of a worker together. */
export function assembleWorker(options: AssembledWorkerOptions) {
  const { endpoint, client, home, clock, today, random, stopSwitch, budgets, unsent } = options;
  const { concurrency, retries, maxWait, maxOutage } = options.settings;
  const counters = createCallCounters();
  const diagnosis = new Diagnosis({
    ...options.diagnosis,
    onStop: (stop) => stopSwitch.stop(stop.refusal ? { ...stop, unsent } : stop),
    home,
    nowMs: () => clock.nowMs(),
    retries,
  });
  const gate = new Gate({
    home,
    clock,
    now: today,
    concurrency,
    diagnosis,
    probe: async (domain, path = endpoint.path(domain)) => {
      const sentAtMs = clock.nowMs();
      const meaning = await client.call(path, stopSwitch.noCall, domain, true);
      options.onCall?.({ domain, meaning, latencyMs: clock.nowMs() - sentAtMs, isProbe: true });
      return meaning;
    },
    budget: joinBudgets(budgets),
    stopSwitch,
    counters,
    maxWaitMs: maxWait,
    maxOutageMs: maxOutage,
    pause: options.pause,
  });
  const batch = endpoint.profile?.batch;
  const worker = new Worker({
    client,
    endpoint,
    gate,
    batches:
      batch &&
      new Batches({ gate, client, endpoint, batch, stopSwitch, clock, random, concurrency }),
    retries,
    maxWaitMs: maxWait,
    stopSwitch,
    onRetry: () => {
      counters.retries += 1;
    },
    onCall: options.onCall,
    clock,
    now: options.now ?? today,
    random,
    concurrency: lookupsAtOnce(concurrency, endpoint),
  });
  const giveBackCalls = async (): Promise<void> => {
    for (const budget of budgets) await budget.close();
  };
  const perCall = lookupsAtOnce(concurrency, endpoint) / concurrency;
  return {
    worker,
    gate,
    /** How many lookups it is of use to hold at present. */
    useful: () => gate.ahead() * perCall,
    findings: () => diagnosis.findings(),
    counters,
    /** Gives back what was taken of its budgets and not used. `close` does so too. */
    giveBackCalls,
    close: async (): Promise<void> => {
      await giveBackCalls();
      await gate.close();
      await client.close();
    },
  };
}
