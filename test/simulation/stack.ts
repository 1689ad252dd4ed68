import { createBrandClient } from '../../src/brand/client.ts';
import { createCredential } from '../../src/brand/credential.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import type { Transport } from '../../src/brand/transport.ts';
import type { Outcome } from '../../src/calls/outcome.ts';
import { placesIn } from '../../src/collector/produce.ts';
import { parseProfile } from '../../src/profile/read-profile.ts';
import { assembleWorker } from '../../src/run/local-worker.ts';
import { createOwnPace, type PaceHome } from '../../src/worker/own-pace.ts';
import { type Learned, type PaceDescription, readLearned } from '../../src/worker/pace-memory.ts';
import { createStopSwitch, type StopSwitch } from '../../src/worker/stop-switch.ts';
import { EPOCH_MS } from './limits.ts';
import type { VirtualClock } from './virtual-time.ts';
import { isDuring, RETRIES, TIMEOUT_MS, type World } from './world.ts';

/**
 * The worker that a run has, with all its parts, in virtual time. Nothing else here names those.
 */
export interface Stack {
  readonly stopSwitch: StopSwitch;
  /** Looks domains up that are wanted, and hands each outcome on as it comes. */
  lookUp(
    domains: readonly string[],
    onOutcomes: (all: readonly Outcome[]) => void,
    isWanted?: (domain: string) => boolean,
  ): Promise<void>;
  /** Whether calls fail here alone. */
  isSick(): boolean;
  describe(): PaceDescription;
  /** What a next run would remember of it. */
  remember(): Learned | undefined;
  close(): Promise<void>;
}

export interface StackOptions {
  readonly clock: VirtualClock;
  readonly random: () => number;
  readonly transport: Transport;
  /** What an earlier run remembered. @default nothing */
  readonly learned?: Learned | undefined;
  /** Where the pace is kept. @default in this process */
  readonly home?: PaceHome | undefined;
}

const MAX_WAIT_MS = 15 * 60_000;
const MAX_OUTAGE_MS = 60 * 60_000;

export function openStack(world: World, options: StackOptions): Stack {
  const { clock, random, transport, learned } = options;
  const { callers, rate, batch } = world;
  const baseUrl = 'http://api.example';
  const profile = batch === undefined ? undefined : parseProfile('batches.yaml', profileOf(batch));
  const endpoint = createEndpoint({ baseUrl, profile: profile?.api });
  const today = (): number => EPOCH_MS + clock.nowMs();
  const nowMs = clock.nowMs();
  const { home = createOwnPace(nowMs, { rate, learned, epochMs: EPOCH_MS }) } = options;
  const stopSwitch = createStopSwitch();
  const { worker, gate, close } = assembleWorker({
    settings: {
      concurrency: callers,
      retries: RETRIES,
      maxWait: MAX_WAIT_MS,
      maxOutage: MAX_OUTAGE_MS,
    },
    endpoint,
    client: createBrandClient({
      endpoint,
      credential: createCredential({ kind: 'none' }, undefined),
      connections: callers,
      timeoutMs: TIMEOUT_MS,
      now: today,
      transport,
    }),
    home,
    // A run knows whether an earlier one was answered; a worker of a queue does not.
    diagnosis: options.home ? {} : { hasAnswered: learned !== undefined },
    clock,
    today,
    random,
    stopSwitch,
    budgets: [],
    pause: pauseOf(world, clock),
  });
  return {
    stopSwitch,
    lookUp: (domains, onOutcomes, isWanted) =>
      worker.handle({ domains: asProduced(domains) }, async (all) => onOutcomes(all), isWanted),
    isSick: () => gate.isSick(),
    describe: () => gate.describe(),
    remember: () => {
      const kept: unknown = JSON.parse(JSON.stringify(gate.learned()));
      return readLearned(kept, 0, { nowMs: today(), maxWaitMs: MAX_WAIT_MS });
    },
    close,
  };
}

/** What an earlier run remembered that found such a limit. */
export function rememberedLimit(perSecond: number): Learned {
  return { limitPerMs: perSecond / 1_000, cap: 0, statedUntilMs: 0 };
}

/** In the order in which a run gives them out. */
export function asProduced(domains: readonly string[]): readonly string[] {
  const places = placesIn(domains.length);
  const isFirst = (_: string, at: number): boolean => places.has(at);
  return [...domains.filter(isFirst), ...domains.filter((_, at) => !places.has(at))];
}

function pauseOf({ pause }: World, clock: VirtualClock) {
  if (!pause) return undefined;
  return {
    get isPaused() {
      return isDuring(pause, clock.nowMs());
    },
    whileOpen: (signal: AbortSignal) =>
      clock.sleep(pause.fromMs + pause.forMs - clock.nowMs(), signal),
  };
}

const profileOf = (size: number): string => `
request: { baseUrl: 'http://api.example' }
batch:
  path: /v1/brands
  body: { domains: '{domains}' }
  size: ${size}
  domain: domain
  status: status
  answer: answer
`;
