import type { BrandClient } from '../../src/brand/client.ts';
import { createEndpoint } from '../../src/brand/endpoint.ts';
import type { Meaning } from '../../src/brand/meaning.ts';
import type { Outcome } from '../../src/brand/outcome.ts';
import { assembleWorker } from '../../src/run/local-worker.ts';
import { createSharedBudget, RUN_WINDOW } from '../../src/worker/budget.ts';
import type { EvidenceOptions } from '../../src/worker/evidence.ts';
import { createOwnPace, type GateDescription } from '../../src/worker/gate.ts';
import type { Rate } from '../../src/worker/rate.ts';
import { createStopSwitch, type Stop } from '../../src/worker/stop-switch.ts';
import { createFakeClock } from '../support/fake-clock.ts';

/** Says what the nth call about a domain is answered, at a time in milliseconds. */
export type Script = (call: {
  readonly domain: string;
  readonly at: number;
  readonly nth: number;
  readonly total: number;
  readonly nowMs: number;
}) => Meaning;

export interface RunOptions {
  readonly domains?: number;
  readonly concurrency?: number;
  readonly retries?: number;
  readonly maxCalls?: number;
  readonly maxWaitMs?: number;
  /** The call at whose end the user stops the run. @default none */
  readonly interruptAt?: number;
  readonly rate?: Rate;
  /** @default 20 */
  readonly refusalMs?: number;
  /** Scales backoffs. @default 0.5 */
  readonly random?: () => number;
  readonly evidence?: Omit<EvidenceOptions, 'onStop' | 'callers'>;
}

export interface Ran {
  readonly outcomes: readonly Outcome[];
  readonly statuses: Readonly<Record<string, number>>;
  readonly stopped: Stop | undefined;
  readonly calls: number;
  readonly callsOf: ReadonlyMap<string, number>;
  readonly elapsedMs: number;
  /** What the gate says of the pace at the end. */
  readonly pace: GateDescription;
}

/** Looks domains up in time that jumps, each call taking 20 ms, or one that is throttled `refusalMs`. */
export async function run(script: Script, options: RunOptions = {}): Promise<Ran> {
  const { domains: count = 60, concurrency = 8, retries = 3, maxWaitMs = 60_000 } = options;
  const { refusalMs = 20, random = () => 0.5, interruptAt } = options;
  const clock = createFakeClock({ isImpatient: true });
  const stopSwitch = createStopSwitch();
  const callsOf = new Map<string, number>();
  const outcomes: Outcome[] = [];
  let calls = 0;
  const client: BrandClient = {
    call: async (_path, signal, domain) => {
      await clock.sleep(refusalMs / 2, signal);
      calls += 1;
      const total = calls;
      const nth = (callsOf.get(domain) ?? 0) + 1;
      callsOf.set(domain, nth);
      const said = script({
        domain,
        at: Number(domain.slice(1, -4)),
        nth,
        total,
        nowMs: clock.nowMs(),
      });
      const isQuick = said.kind === 'throttled';
      await clock.sleep((isQuick ? refusalMs : 40 - refusalMs) / 2, signal);
      if (total === interruptAt) stopSwitch.stop({ reason: 'interrupted' });
      return said;
    },
    callBatch: () => Promise.reject(new Error('This API has no batches.')),
    close: async () => {},
  };
  const { worker, gate } = assembleWorker({
    settings: { concurrency, retries, maxWait: maxWaitMs, maxOutage: maxWaitMs },
    endpoint: createEndpoint({ baseUrl: 'http://api.example' }),
    client,
    home: createOwnPace(0, { rate: options.rate, learned: undefined, epochMs: 0 }),
    evidence: options.evidence ?? {},
    budgets: options.maxCalls === undefined ? [] : [budgetOf(options.maxCalls)],
    stopSwitch,
    clock,
    today: () => clock.nowMs(),
    random,
  });
  const domains = Array.from({ length: count }, (_, at) => `d${at}.com`);
  await worker.handle({ domains }, async (replied) => void outcomes.push(...replied));
  const pace = gate.describe();
  await gate.close();
  const statuses: Record<string, number> = {};
  for (const { status } of outcomes) statuses[status] = (statuses[status] ?? 0) + 1;
  const { stopped } = stopSwitch;
  return { outcomes, statuses, stopped, calls, callsOf, elapsedMs: clock.nowMs(), pace };
}

function budgetOf(maxCalls: number) {
  let left = maxCalls;
  return createSharedBudget({
    ledger: {
      take: async (domains) => {
        const count = Math.min(domains, left);
        left -= count;
        return { count, each: 1, window: RUN_WINDOW, nowMs: 0 };
      },
      read: async () => ({ taken: maxCalls - left, window: RUN_WINDOW }),
      giveBack: async (count) => {
        left += count;
      },
    },
    now: () => 0,
    usedUp: () => ({ reason: 'max_calls' }),
  });
}

const HEARD = { likeness: '', form: 'json', reason: 'http_200' } as const;

export const found = (domain: string): Meaning => ({
  ...HEARD,
  kind: 'found',
  httpStatus: 200,
  json: `{"name":"${domain}"}`,
  likeness: domain,
});

export function refused(httpStatus: number, likeness = ''): Meaning {
  return { ...HEARD, kind: 'refused', httpStatus, reason: `http_${httpStatus}`, likeness };
}

export function rejected(likeness: string, httpStatus = 400): Meaning {
  return {
    ...HEARD,
    kind: 'rejected',
    httpStatus,
    reason: `http_${httpStatus}`,
    said: likeness,
    likeness,
  };
}

export function away(httpStatus: number): Meaning {
  return { ...HEARD, kind: 'away', httpStatus, reason: `http_${httpStatus}` };
}

export function throttled(retryAfterMs?: number): Meaning {
  return { ...HEARD, kind: 'throttled', httpStatus: 429, reason: 'http_429', retryAfterMs };
}

/** At most so many calls in each window of a second, or so many milliseconds, are answered well. */
export function limited(count: number, refusal: Meaning, perMs = 1_000): Script {
  let window = -1;
  let calls = 0;
  return ({ domain, nowMs }) => {
    const now = Math.floor(nowMs / perMs);
    if (now !== window) calls = 0;
    window = now;
    calls += 1;
    return calls > count ? refusal : found(domain);
  };
}
