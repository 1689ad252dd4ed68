import type { BatchProfile } from '../brand/api-profile.ts';
import type { BrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { Meaning } from '../brand/meaning.ts';
import type { Clock } from './clock.ts';
import type { Gate, Permit, Question } from './gate.ts';
import { NotAskedError, type StopSwitch } from './stop-switch.ts';
import type { Verdict } from './withheld.ts';

/**
 * Asks about several domains in one call, where the API has batches. The gate sees calls; each lookup
 * gets the answer about its own domain, and goes on as after a call of its own.
 *
 * ```text
 *   lookup ─call─▶ waiting ─go─▶ one call ─reply─▶ answer of each domain ─▶ lookup
 *                     ▲             │
 *                     └─ in halves ─┘ refused as a whole: one domain may be to blame
 * ```
 *
 * A domain that a reply is silent about is asked about alone.
 */
export interface Batches {
  /** Asks about one domain, together with others that wait. @throws what `Gate.ask` throws */
  call(question: Question): Promise<BatchedCall>;
}

export interface BatchedCall {
  readonly meaning: Meaning;
  readonly latencyMs: number;
  /** What of the call was for this domain: all, or as much as for each of the others. */
  readonly share: number;
  readonly verdict: Verdict | Promise<Verdict>;
  /** For those that are to wait equally long, so that they go together again. @default their own */
  readonly jitter?: number;
}

export interface BatchesOptions {
  readonly gate: Gate;
  readonly client: BrandClient;
  readonly endpoint: Endpoint;
  readonly batch: BatchProfile;
  readonly stopSwitch: StopSwitch;
  readonly clock: Clock;
  readonly random: () => number;
  /** How many calls may be under way at once. */
  readonly concurrency: number;
}

/** A lookup that waits for its call. */
interface Waiting {
  readonly question: Question;
  /** Only those of the same part go together: of a call that was refused, each half. */
  readonly part: object | undefined;
  readonly resolve: (call: BatchedCall) => void;
  readonly reject: (error: unknown) => void;
}

/** A call waits this long for others to join it, unless it is full. */
const LINGER_MS = 5;

/** A call that fails so often as a whole may do so for one of its domains. */
const MOST_TOGETHER = 2;

const MISSING: Meaning = {
  kind: 'away',
  httpStatus: 200,
  reason: 'missing_in_reply',
  fingerprint: 'missing_in_reply',
  form: 'json',
};

/** How many lookups keep all calls full. */
export function lookupsAtOnce(concurrency: number, { profile }: Endpoint): number {
  return concurrency * (profile?.batch?.size ?? 1);
}

export function createBatches(options: BatchesOptions): Batches {
  const { gate, client, endpoint, batch, stopSwitch, clock, random, concurrency } = options;
  const waiting: Waiting[] = [];
  /** Lookups that a reply was silent about. */
  const alone = new WeakSet<Question>();
  /** The halves of calls that were refused. */
  const parts = new WeakMap<Question, object>();
  /** How often calls about several failed, by the first of them. */
  const triedTogether = new WeakMap<Question, number>();
  let inFlight = 0;
  let isLingering = false;

  const mayJoin = ({ question }: Waiting): boolean => !alone.has(question);

  /** Starts calls: full ones and those that nobody joins at once, another one after a moment. */
  function start(): void {
    for (let first = waiting[0]; first && inFlight < concurrency; first = waiting[0]) {
      const isDue = waiting.length >= batch.size || !mayJoin(first);
      if (!isDue) return void linger();
      send();
    }
  }

  async function linger(): Promise<void> {
    if (isLingering) return;
    isLingering = true;
    await clock.sleep(LINGER_MS, stopSwitch.noNewCall).catch(() => {}); // the call itself says why
    isLingering = false;
    if (inFlight < concurrency) send();
    start();
  }

  function send(): void {
    const first = waiting.shift();
    if (!first) return;
    inFlight += 1;
    void callAbout(first).finally(() => {
      inFlight -= 1;
      start();
    });
  }

  async function callAbout(first: Waiting): Promise<void> {
    let group: readonly Waiting[] = [first, ...takeMore(first, batch.size - 1)];
    try {
      const permit = await gate.ask(first.question);
      // Waiting for the turn may have taken long.
      group = group.filter((one) => one === first || isWanted(one));
      const most = Math.min(batch.size, permit.domains);
      waiting.unshift(...group.slice(most));
      group = [...group.slice(0, most), ...takeMore(first, most - group.length)];
      const sentAtMs = clock.nowMs();
      try {
        if (group.length === 1) await callAlone(permit, first);
        else await callTogether(permit, group, sentAtMs);
      } catch (error) {
        permit.abandoned(error);
        throw error;
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  /** Those that wait and go with the first: of the same part and the same budget, in their order. */
  function takeMore(first: Waiting, most: number): readonly Waiting[] {
    const taken: Waiting[] = [];
    if (!mayJoin(first)) return taken;
    const { budget } = first.question;
    for (let at = 0; at < waiting.length && taken.length < most; ) {
      const next = waiting[at];
      const { question } = next ?? first;
      const isOfPart = next?.part === first.part && question.budget === budget;
      if (!next || !isOfPart || !mayJoin(next)) at += 1;
      else {
        waiting.splice(at, 1);
        if (isWanted(next)) taken.push(next);
      }
    }
    return taken;
  }

  function isWanted({ question, reject }: Waiting): boolean {
    const isIt = question.isWanted();
    if (!isIt) reject(new NotAskedError());
    return isIt;
  }

  async function callAlone(permit: Permit, { question, resolve }: Waiting): Promise<void> {
    const { domain } = question.subject;
    const sentAtMs = clock.nowMs();
    const meaning = await client.call(endpoint.path(domain), stopSwitch.noCall, domain);
    const latencyMs = clock.nowMs() - sentAtMs;
    resolve({ meaning, latencyMs, share: 1, verdict: permit.ended(meaning) });
  }

  async function callTogether(
    permit: Permit,
    group: readonly Waiting[],
    sentAtMs: number,
  ): Promise<void> {
    const domains = group.map(({ question }) => question.subject.domain);
    const { meaning, meanings } = await client.callBatch(batch, domains, stopSwitch.noCall);
    const latencyMs = clock.nowMs() - sentAtMs;
    if (!meanings) return endAsOne(permit, group, { meaning, latencyMs });
    const each = group.map(({ question }): [Meaning, Question['subject']] => {
      const { subject } = question;
      const said = meanings.get(subject.domain);
      if (!said) alone.add(question);
      return [said ?? MISSING, subject];
    });
    const verdicts = permit.endedTogether(meaning, each);
    group.forEach(({ resolve }, index) => {
      resolve({
        meaning: each[index]?.[0] ?? MISSING,
        latencyMs,
        share: 1 / group.length,
        verdict: verdicts[index] ?? 'retry',
      });
    });
  }

  /** A call that was refused or failed as a whole is one piece of evidence, and goes on as one. */
  function endAsOne(
    permit: Permit,
    group: readonly Waiting[],
    { meaning, latencyMs }: Pick<BatchedCall, 'meaning' | 'latencyMs'>,
  ): void {
    const [first] = group;
    if (!first) return;
    const jitter = random();
    const told = permit.ended(meaning, group.length);
    const halve = (verdict: Verdict): Verdict => {
      const isLimit = meaning.kind === 'throttled' || meaning.kind === 'quota';
      if (group.length === 1 || isLimit || verdict === 'drop') return verdict;
      const tries = (triedTogether.get(first.question) ?? 0) + 1;
      triedTogether.set(first.question, tries);
      const isOfOne = verdict === 'believe' || verdict === 'fail';
      if (!isOfOne && tries < MOST_TOGETHER) return verdict;
      goInHalves(group);
      return 'again'; // the halves are other questions
    };
    const verdict = typeof told === 'string' ? halve(told) : told.then(halve);
    const share = 1 / group.length;
    for (const { resolve } of group) resolve({ meaning, latencyMs, share, verdict, jitter });
  }

  /** So one bad domain among a hundred costs a dozen calls, not a hundred, and none of the others. */
  function goInHalves(group: readonly Waiting[]): void {
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      const part = {};
      for (const { question } of half) parts.set(question, part);
    }
  }

  return {
    call: (question) =>
      new Promise((resolve, reject) => {
        waiting.push({ question, part: parts.get(question), resolve, reject });
        start();
      }),
  };
}
