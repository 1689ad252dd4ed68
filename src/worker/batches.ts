import type { BatchProfile } from '../brand/api-profile.ts';
import type { BrandClient } from '../brand/client.ts';
import type { Endpoint } from '../brand/endpoint.ts';
import type { Meaning } from '../brand/meaning.ts';
import type { Clock } from './clock.ts';
import type { Permit } from './flight.ts';
import type { Gate, Question } from './gate.ts';
import { NotAskedError, type StopSwitch } from './stop-switch.ts';
import type { Subject, Verdict } from './withheld.ts';

/**
 * Asks about several domains in one call, where the API has batches. The gate sees calls; each
 * lookup gets the answer about its own domain, and goes on as after a call of its own.
 *
 * ```text
 *   lookup ─call─▶ waiting ─go─▶ one call ─reply─▶ answer of each domain ─▶ lookup
 *                     ▲             │
 *                     ├── as it was ┤ refused as a whole: one answer, about all of them
 *                     └─ in halves ─┘ the same again, while others are well: one may be to blame
 * ```
 *
 * A domain that a reply is silent about is asked about alone.
 */
export class Batches {
  readonly #options: BatchesOptions;
  /** In the order in which they came, those first that a call had no room for. */
  readonly #waiting: Waiting[] = [];
  /** Lookups that a reply was silent about. */
  readonly #alone = new WeakSet<Question>();
  /** Those whose call was refused. */
  readonly #parties = new WeakMap<Question, Subject>();
  #inFlight = 0;
  #isLingering = false;

  constructor(options: BatchesOptions) {
    this.#options = options;
  }

  /** Asks about one domain, together with others that wait. @throws what `Gate.ask` throws */
  call(question: Question): Promise<BatchedCall> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ question, party: this.#parties.get(question), resolve, reject });
      this.#start();
    });
  }

  /** Starts calls: full ones and those that nobody joins at once, another one after a moment. */
  #start(): void {
    for (let first = this.#waiting[0]; first && this.#isFree; first = this.#waiting[0]) {
      const isDue = this.#waiting.length >= this.#options.batch.size || !this.#mayJoin(first);
      if (!isDue) return void this.#linger();
      this.#send();
    }
  }

  get #isFree(): boolean {
    return this.#inFlight < this.#options.concurrency;
  }

  async #linger(): Promise<void> {
    if (this.#isLingering) return;
    this.#isLingering = true;
    const { clock, stopSwitch } = this.#options;
    await clock.sleep(LINGER_MS, stopSwitch.noNewCall).catch(() => {}); // the call itself says why
    this.#isLingering = false;
    if (this.#isFree) this.#send();
    this.#start();
  }

  #send(): void {
    const first = this.#waiting.shift();
    if (!first) return;
    this.#inFlight += 1;
    void this.#callAbout(first).finally(() => {
      this.#inFlight -= 1;
      this.#start();
    });
  }

  async #callAbout(first: Waiting): Promise<void> {
    const { gate, batch } = this.#options;
    let group: readonly Waiting[] = [first, ...this.#takeMore(first, batch.size - 1)];
    const { budget, list } = first.question;
    const party = first.party ?? partyOf(group);
    const isAnyWanted = (): boolean => group.some(({ question }) => question.isWanted());
    try {
      const permit = await gate.ask({ subject: party, budget, list, isWanted: isAnyWanted });
      // Waiting for the turn may have taken long.
      group = group.filter(isWanted);
      const most = Math.min(batch.size, permit.domains);
      this.#waiting.unshift(...group.slice(most));
      group = [...group.slice(0, most), ...this.#takeMore(first, most - group.length)];
      try {
        const [only] = group;
        if (only && group.length === 1) await this.#callAlone(permit, only);
        else await this.#callTogether(permit, group, party);
      } catch (error) {
        permit.abandoned(error);
        throw error;
      }
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  #mayJoin({ question }: Waiting): boolean {
    return !this.#alone.has(question);
  }

  /** Those that wait and go with the first: of its party and its budget, in their order. */
  #takeMore(first: Waiting, most: number): readonly Waiting[] {
    if (!this.#mayJoin(first)) return [];
    const taken: Waiting[] = [];
    const left = this.#waiting.splice(0).filter((next) => {
      const isOfParty =
        next.party === first.party && next.question.budget === first.question.budget;
      if (taken.length >= most || !isOfParty || !this.#mayJoin(next)) return true;
      if (isWanted(next)) taken.push(next);
      return false;
    });
    this.#waiting.push(...left);
    return taken;
  }

  async #callAlone(permit: Permit, { question, resolve }: Waiting): Promise<void> {
    const { client, clock, endpoint, stopSwitch } = this.#options;
    const { domain } = question.subject;
    const sentAtMs = clock.nowMs();
    const meaning = await client.call(endpoint.path(domain), stopSwitch.noCall, domain);
    const latencyMs = clock.nowMs() - sentAtMs;
    const verdict = permit.ended(meaning, question);
    const goOn = (told: Verdict): Verdict => {
      if (this.#isOfRate(meaning, told)) this.#parties.delete(question);
      return told;
    };
    const then = typeof verdict === 'string' ? goOn(verdict) : verdict.then(goOn);
    resolve({ meaning, latencyMs, share: 1, verdict: then });
  }

  async #callTogether(permit: Permit, group: readonly Waiting[], party: Subject): Promise<void> {
    const { batch, client, clock, stopSwitch } = this.#options;
    const sentAtMs = clock.nowMs();
    const domains = group.map(({ question }) => question.subject.domain);
    const { meaning, meanings } = await client.callBatch(batch, domains, stopSwitch.noCall);
    const latencyMs = clock.nowMs() - sentAtMs;
    if (!meanings) return this.#endAsOne(permit, { group, party, meaning, latencyMs });
    const each = group.map(({ question }): [Meaning, Question['subject']] => {
      const { subject } = question;
      const said = meanings.get(subject.domain);
      if (!said) this.#alone.add(question);
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
  #endAsOne(permit: Permit, { group, party, meaning, latencyMs }: Refused): void {
    const jitter = this.#options.random();
    const told = permit.ended(meaning, { subject: party, domains: group.length });
    const goOn = (verdict: Verdict): Verdict => {
      if (verdict === 'drop') return verdict;
      if (this.#isOfRate(meaning, verdict)) {
        for (const { question } of group) this.#parties.delete(question);
        return verdict;
      }
      const isOfOne = verdict === 'believe' || verdict === 'fail';
      if (isOfOne) this.#goInHalves(group, party);
      else for (const { question } of group) this.#parties.set(question, party);
      return isOfOne ? 'again' : verdict; // the halves are other subjects
    };
    const verdict = typeof told === 'string' ? goOn(told) : told.then(goOn);
    const share = 1 / group.length;
    for (const { resolve } of group) resolve({ meaning, latencyMs, share, verdict, jitter });
  }

  /** What a limit refuses is about none of the domains: they may go with any others. */
  #isOfRate(meaning: Meaning, verdict: Verdict): boolean {
    return verdict !== 'believe' && this.#options.gate.isOfRate(meaning);
  }

  /** So one bad domain among a hundred costs a dozen calls, and none of the others. */
  #goInHalves(group: readonly Waiting[], whole: Subject): void {
    const middle = Math.ceil(group.length / 2);
    for (const half of [group.slice(0, middle), group.slice(middle)]) {
      const party = partyOf(half, whole);
      for (const { question } of half) this.#parties.set(question, party);
    }
  }
}

/** Whether a lookup still wants its call; else it is told that there is none. */
function isWanted({ question, reject }: Waiting): boolean {
  const isIt = question.isWanted();
  if (!isIt) reject(new NotAskedError());
  return isIt;
}

const partyOf = ([first]: readonly Waiting[], partOf?: Subject): Subject => ({
  domain: first?.question.subject.domain ?? '',
  isSeveral: true,
  partOf,
});

/** How many lookups keep all calls full. */
export function lookupsAtOnce(concurrency: number, { profile }: Endpoint): number {
  return concurrency * (profile?.batch?.size ?? 1);
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
  /** Only those of the same party go together: of a call that was refused, all, or each half. */
  readonly party: Subject | undefined;
  readonly resolve: (call: BatchedCall) => void;
  readonly reject: (error: unknown) => void;
}

/** A call waits this long for others to join it, unless it is full. */
const LINGER_MS = 5;

/** A call that was refused or failed as a whole. */
interface Refused extends Pick<BatchedCall, 'meaning' | 'latencyMs'> {
  readonly group: readonly Waiting[];
  readonly party: Subject;
}

const MISSING: Meaning = {
  kind: 'away',
  httpStatus: 200,
  reason: 'missing_in_reply',
  fingerprint: 'missing_in_reply',
  form: 'json',
};
