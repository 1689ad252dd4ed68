import { type Meaning, misdirectionIn } from '../brand/meaning.ts';
import type { Stop } from './stop-switch.ts';

/**
 * What answers of different domains show together. One answer is evidence; whether it is about its
 * domain, the caller or the moment shows when others succeed, or do not. English is never read: bodies
 * are only compared.
 *
 * | seen | then |
 * |---|---|
 * | nothing good yet | five calls go ahead of all others |
 * | nothing good, and five domains refused (401, 402, 403), misdirected, or found with one body | the run stops |
 * | five domains refused or failed alike, with few successes between, or twenty that got anything bad | `doubt`: the gate slows down, and tests one at a time |
 * | refused, and a call that began after it succeeds | asked again; the third time it is about its domain |
 * | refused, or failed in doubt, and asked again more slowly it succeeds | it was a limit: the same answer counts as 429 from now on |
 * | such a failure still comes at half the rate | it was none, and casts no doubt any more |
 * | five domains failed alike for good, though others succeeded meanwhile | it is how this API fails: no doubt any more |
 * | three domains were refused so for good | it is how this API refuses a domain: believed at once |
 * | either of these | the pace is what it was before the doubt |
 * | no lookup is left that could tell more | what was refused is asked once more, and then believed; where nothing succeeded, the run stops |
 *
 * A belief may stop a run. It never drops what was paid for: what could not be told is `failed`, and
 * asked again by the next run.
 */
export interface Evidence {
  /** Whether one more call may start. At first only a few go ahead. */
  mayStart(underWay: number): boolean;
  /** A call begins: returns what `Asked.begun` is to be. */
  begin(): number;
  /** Weighs the answer to a call. */
  note(meaning: Meaning, asked: Asked, situation: Situation): Weighed;
  /** A test has failed, too: what was refused first is asked again, beside something new. */
  askAgain(): void;
  /** No lookup is left that is not held. */
  idle(): void;
  /** The run stops: what is held is let go once no call is under way that could tell more. */
  end(): void;
  /** Why the run is to stop when doubts last for too long. */
  lastingDoubt(): Stop | undefined;
}

/** What the gate knows when an answer comes. */
export interface Situation {
  /** An outage lasts. */
  readonly isOut: boolean;
  readonly ratePerMs: number;
  /** How many other calls are. */
  readonly underWay: number;
}

/** A lookup, as its answers are weighed. */
export interface Asked {
  readonly domain: string;
  /** How often it failed. */
  failures: number;
  /** What `begin` returned for its present call. */
  begun: number;
  /** How often it was refused, how, and how many successes there were at the first time. */
  refusals: number;
  refusedAs: string;
  successesThen: number;
}

export interface Weighed {
  /** What the call says of the pace; `out`: the API says when it is back; `own`: the domain alone is slow. */
  readonly signal: 'good' | 'limit' | 'out' | 'own' | 'doubt' | 'none';
  readonly verdict: Verdict | Promise<Verdict>;
  /** It has become clear that what was doubted is about domains. @default false */
  readonly isCleared?: boolean | undefined;
}

/**
 * What becomes of an answer: it is believed; its lookup asks again at once; or after a backoff, as
 * another attempt; it is no verdict, so the lookup failed; or the lookup was as good as not made.
 */
export type Verdict = 'believe' | 'again' | 'retry' | 'fail' | 'drop';

export interface EvidenceOptions {
  readonly onStop: (stop: Stop) => void;
  /** How many calls may be under way when all is well. */
  readonly callers: number;
  /** How many domains go first, and make a verdict there. @default 5 */
  readonly first?: number | undefined;
  /** Whether the API gave good answers to earlier runs. @default not known */
  readonly hasAnswered?: boolean | undefined;
  /** Whether an earlier run got no good answer for the domain either. @default always false */
  readonly wasBadBefore?: ((domain: string) => boolean) | undefined;
  /** Whether answers are believed, however many are alike. @default false */
  readonly isTrusting?: boolean | undefined;
}

const MANY = 5;
/** In a row, of an answer that is known to be how the API refuses a domain, or of different ones. */
const MANY_KNOWN = 20;
/** A bad answer is worth so many good ones: what a quarter of all get may be by chance. */
const SUSPICION = 3;
/** So many domains show how an API refuses one. */
const CONFIRMED = 3;
/** Refused so often, with successes between, it is about the domain. */
const ENOUGH = 3;
const MOST_KNOWN = 200;

/** Bad answers with no good one between. */
interface Row {
  readonly domains: Set<string>;
  /** The domains that got the same: one status of the caller, one body, or no answer at all. */
  readonly groups: Map<string, Set<string>>;
  /** What the gate was told to slow down for. */
  first: Meaning | undefined;
  /** The domains that were throttled. */
  readonly throttled: Set<string>;
  /** Whether the gate was told to slow down. */
  isDoubt: boolean;
}

/** What several domains got, and how many more of those than good answers there were. */
interface Suspect {
  readonly score: number;
  /** How many successes there were then. */
  readonly successesThen: number;
  readonly domains: Set<string>;
}

/** An answer that is a limit: the rate at the first time, and how often it came at half of that. */
interface KnownLimit {
  refusals: number;
  ratePerMs: number | undefined;
}

interface Held {
  readonly asked: Asked;
  readonly meaning: Meaning;
  /** How many answers had come. */
  readonly at: number;
  /** Of a failure: what becomes of it when its turn has come. */
  readonly inTurn: Verdict | undefined;
  readonly release: (verdict: Verdict) => void;
}

export function createEvidence(options: EvidenceOptions): Evidence {
  const { onStop, callers, hasAnswered, isTrusting = false } = options;
  const { first = MANY, wasBadBefore = () => false } = options;
  let answers = 0;
  let successes = 0;
  let row = emptyRow();
  let held: Held[] = [];
  /** The last records. */
  const records: string[] = [];
  /** What several domains got alike, by group. */
  const suspects = new Map<string, Suspect>();
  /** How answers turned out: for how many domains they were for good (0: not known yet), or that they are a limit. */
  const known = new Map<string, number | KnownLimit>();
  let situation: Situation = { isOut: false, ratePerMs: 0, underWay: 0 };
  let isOver = false;
  let isCleared = false;
  /** Any answer has come. */
  let isReached = false;

  function stop(why: Stop): void {
    if (isOver) return;
    isOver = true;
    onStop(why);
  }

  /** What becomes of what is held, since no call tells more of it. */
  function resolveHeld(): void {
    // A record that all get is no answer. Other answers were paid for, unless nothing was ever good.
    release(({ meaning }) => {
      const { kind } = meaning;
      if (kind === 'found') return isSeenByMany(groupOf(meaning)) ? 'drop' : 'believe';
      if (successes === 0 || (kind !== 'rejected' && kind !== 'not_found')) return 'drop';
      return isInDoubt() ? 'fail' : 'believe';
    });
  }

  function beginRow(): void {
    const isEmpty = row.domains.size + row.throttled.size === 0 && !row.isDoubt;
    if (!isEmpty) row = emptyRow();
  }

  /** Whether what is held may be about all. Calls that failed cast no doubt on what others were told. */
  function isInDoubt(): boolean {
    return row.isDoubt && row.first?.kind !== 'away';
  }

  function release(tell: (one: Held) => Verdict | undefined): void {
    const all = held;
    held = [];
    for (const one of all) {
      const verdict = tell(one);
      if (verdict) one.release(verdict);
      else held.push(one);
    }
  }

  function success({ begun, refusedAs }: Asked): void {
    const wasDoubt = isInDoubt();
    // Asked again, more slowly, it is answered: that was a limit.
    if (refusedAs !== '' && !isLimit(known.get(refusedAs))) {
      remember(refusedAs, { refusals: 0, ratePerMs: undefined });
    }
    successes += 1;
    const wasLong = row.isDoubt;
    beginRow();
    // What was under way when the refusal came shows nothing.
    release((one) => (one.at > begun ? undefined : tell(one, wasDoubt)));
    if (!wasLong) return;
    for (const [group, { domains }] of suspects) if (domains.size > 1) suspects.delete(group);
  }

  /** What a refusal is worth once others succeeded. */
  function tell({ meaning, asked, inTurn }: Held, wasDoubt: boolean): Verdict | undefined {
    const key = keyOf(meaning);
    const seen = known.get(key);
    if (isLimit(seen)) return 'again';
    if (inTurn) return inTurn;
    if (!wasDoubt && seen && seen >= CONFIRMED) return 'believe';
    const { kind, retryAfterMs } = meaning;
    // No other domain has that record: what made the doubt has nothing to do with it.
    if (kind === 'found' && suspects.get(groupOf(meaning))?.domains.size === 1) return 'believe';
    const isPlain = kind === 'found' || (kind === 'rejected' && retryAfterMs === undefined);
    if (isPlain && !wasDoubt && asked.refusals === 1) {
      const isOpen = seen === 0 || scoreOf(suspects.get(groupOf(meaning))) > 0;
      return isOpen ? undefined : 'believe';
    }
    if (asked.refusals < ENOUGH || successes === asked.successesThen) {
      if (wasDoubt) remember(key, seen ?? 0);
      return 'again';
    }
    settle(key, (seen ?? 0) + 1);
    return 'believe';
  }

  /** It was for good, for so many domains. */
  function settle(key: string, domains: number, enough = CONFIRMED): void {
    remember(key, domains);
    isCleared ||= domains >= enough;
  }

  function remember(key: string, what: number | KnownLimit): void {
    if (known.size < MOST_KNOWN || known.has(key)) known.set(key, what);
  }

  /** Believes what others got for good, where others succeeded since. */
  function confirm(key: string): void {
    release(({ meaning, asked }) =>
      keyOf(meaning) === key && successes > asked.successesThen ? 'believe' : undefined,
    );
  }

  /** @param inTurn of a failure: what becomes of it when its turn has come */
  function hold(meaning: Meaning, asked: Asked, inTurn?: Verdict): Promise<Verdict> {
    return new Promise((done) => held.push({ asked, meaning, at: answers, inTurn, release: done }));
  }

  /** What is left of a suspicion: each success takes some of it back. */
  function scoreOf(suspect: Suspect | undefined): number {
    return suspect ? Math.max(0, suspect.score - (successes - suspect.successesThen)) : 0;
  }

  /** A domain got what others got. Returns whether that is too often for chance. */
  function suspect(group: string, { domain }: Asked): boolean {
    const before = suspects.get(group);
    const left = scoreOf(before);
    const domains = before && left > 0 ? before.domains : new Set<string>();
    if (domains.size < MANY) domains.add(domain);
    if (suspects.size >= MOST_KNOWN) suspects.clear();
    suspects.set(group, { score: left + SUSPICION, successesThen: successes, domains });
    return left + SUSPICION >= MANY * SUSPICION && domains.size >= Math.min(MANY, callers + 1);
  }

  function isSeenByMany(group: string): boolean {
    return (suspects.get(group)?.domains.size ?? 0) >= MANY;
  }

  /** Adds a domain to the row. Returns whether too many got the same, or bad answers of any kind. */
  function isTooMany(meaning: Meaning, asked: Asked, isKnown: boolean): boolean {
    const { domain } = asked;
    if (wasBadBefore(domain)) return row.isDoubt;
    row.domains.add(domain);
    const group = groupOf(meaning);
    const same = row.groups.get(group) ?? new Set<string>();
    row.groups.set(group, same.add(domain));
    const isSuspect = !isKnown && suspect(group, asked);
    if (isSuspect || same.size >= MANY_KNOWN || row.domains.size >= MANY_KNOWN) beginDoubt(meaning);
    return row.isDoubt;
  }

  function beginDoubt(meaning: Meaning): void {
    row.first ??= meaning;
    row.isDoubt = true;
  }

  function noteFound(meaning: Meaning, asked: Asked): Weighed {
    const { likeness } = meaning;
    const isFirst = records.length === 0;
    const isOften = records.includes(likeness) || suspects.has(likeness) || known.has(likeness);
    records.push(likeness);
    if (records.length > MANY) records.shift();
    if (isTrusting || !(isFirst || isOften)) {
      success(asked);
      return GOOD;
    }
    if (!isFirst) return noteRefusal(meaning, asked);
    beginRow();
    asked.refusals = 0;
    return { signal: 'good', verdict: noteRefusal(meaning, asked).verdict };
  }

  /** A verdict that is bad, or a record that others have. */
  function noteRefusal(meaning: Meaning, asked: Asked): Weighed {
    const key = keyOf(meaning);
    if (asked.refusals === 0) asked.successesThen = successes;
    asked.refusals += 1;
    asked.refusedAs = key;
    const seen = known.get(key) ?? 0;
    if (isLimit(seen)) {
      const isOwn = asked.refusals > ENOUGH && successes > asked.successesThen;
      return isOwn ? BELIEVED : LIMIT;
    }
    // Others succeeded since it was refused first: it is about the domain, whatever comes now.
    const enough = meaning.kind === 'not_found' ? 2 : ENOUGH; // a 404 page is seldom a limit
    if (asked.refusals >= enough && successes > asked.successesThen) {
      settle(key, seen + 1);
      if (enough < ENOUGH && seen + 1 >= CONFIRMED) confirm(key);
      return BELIEVED;
    }
    const isTooLong = isTooMany(meaning, asked, seen >= CONFIRMED);
    const why = successes === 0 && !isTrusting ? whyAtStart(meaning) : undefined;
    if (why) {
      stop(why);
      return { signal: 'none', verdict: 'drop' };
    }
    if (isTrusting || (seen >= CONFIRMED && !isTooLong)) return BELIEVED;
    return { signal: isTooLong ? 'doubt' : 'none', verdict: hold(meaning, asked) };
  }

  /** The sign of a wrong address. What was reached before, or may have been, is out where nothing listens. */
  function signIn(meaning: Meaning): ReturnType<typeof misdirectionIn> {
    const isOut = meaning.reason === 'connection_refused' && (isReached || hasAnswered !== false);
    return isOut ? undefined : misdirectionIn(meaning);
  }

  /** Why to stop when nothing good has come yet, and all that came says the same. */
  function whyAtStart(meaning: Meaning): Stop | undefined {
    const { kind } = meaning;
    const many = kind === 'refused' || kind === 'found' ? MANY : first;
    if ((row.groups.get(groupOf(meaning))?.size ?? 0) < many || isOver) return undefined;
    const seen = signIn(meaning);
    if (seen) return { reason: 'misdirected', seen };
    return kind === 'refused' || kind === 'found' ? stopOf(meaning) : undefined;
  }

  function noteAway(meaning: Meaning, asked: Asked): Weighed {
    const key = keyOf(meaning);
    let seen = known.get(key) ?? 0;
    if (isLimit(seen)) {
      seen.ratePerMs ??= situation.ratePerMs;
      if (situation.ratePerMs <= seen.ratePerMs / 2) seen.refusals += 1;
      if (seen.refusals < MANY_KNOWN) return noteThrottled(meaning, asked);
      seen = MANY_KNOWN; // at half the rate it still comes: it was none
      known.set(key, seen);
    }
    if (meaning.retryAfterMs && meaning.rule === undefined) {
      const { signal, verdict } = noteThrottled(meaning, asked);
      return { signal: signal === 'limit' ? 'out' : signal, verdict };
    }
    if (asked.failures === 0) asked.successesThen = successes;
    asked.failures += 1;
    const isOwn = asked.failures > 1 && successes > asked.successesThen;
    if (meaning.kind === 'machine') beginDoubt(meaning);
    // Others succeeded since it failed first: it is no sign of anything but itself.
    // A night may have a few domains with an answer that is no JSON, and no others: that is no outage yet.
    const { httpStatus = 0 } = meaning;
    const isAnswered = httpStatus >= 200 && httpStatus < 300;
    if (isOwn && asked.failures === ENOUGH) settle(key, seen + 1, MANY);
    const isKnown = isAnswered || seen >= MANY;
    const isTooLong = isOwn ? row.isDoubt : isTooMany(meaning, asked, isKnown);
    const why = successes === 0 ? whyAtStart(meaning) : undefined;
    if (why) {
      stop(why);
      return { signal: 'none', verdict: 'drop' };
    }
    if (!isTooLong) {
      // A retry that comes before the fifth domain would tell nothing new.
      const isOpen = successes === 0 && signIn(meaning) !== undefined;
      return { signal: 'none', verdict: isOpen ? hold(meaning, asked, 'retry') : 'retry' };
    }
    if (meaning.kind === 'away' && !situation.isOut) asked.refusedAs = key;
    // While nothing succeeds, a failure says nothing about its domain. What fails again takes turns with new
    // ones, or it would take all callers.
    const verdict = asked.failures > 1 ? hold(meaning, asked, isOwn ? 'retry' : 'again') : 'again';
    return { signal: 'doubt', verdict };
  }

  /** It is about the domain, unless the first ones show a wrong address. */
  function noteFailed(meaning: Meaning, asked: Asked): Weighed {
    if (successes > 0 || !signIn(meaning)) return BELIEVED;
    isTooMany(meaning, asked, true);
    const why = whyAtStart(meaning);
    if (why) stop(why);
    return why
      ? { signal: 'none', verdict: 'drop' }
      : { signal: 'none', verdict: hold(meaning, asked) };
  }

  function noteThrottled({ retryAfterMs }: Meaning, asked: Asked): Weighed {
    row.throttled.add(asked.domain);
    const isAlone = successes > 0 && asked.refusals > ENOUGH && row.throttled.size < MANY;
    // After a wait that was stated one success shows it; without one it may be chance.
    const enough = asked.successesThen + (retryAfterMs === undefined ? MANY : 1);
    const isOwn = isAlone || (asked.refusals > 0 && successes >= enough);
    // What was under way shows nothing. What is the domain's own stays so, also where no others are left to succeed.
    asked.successesThen = isOwn ? Number.NEGATIVE_INFINITY : successes + situation.underWay;
    asked.refusals += 1;
    // Others succeed meanwhile: it is the domain's own trouble, and closes nothing for others.
    return isOwn ? { signal: 'own', verdict: 'retry' } : LIMIT;
  }

  function weigh(meaning: Meaning, asked: Asked): Weighed {
    if (meaning.isSure && meaning.kind === 'refused') {
      stop(stopOf(meaning));
      return { signal: 'none', verdict: 'fail' };
    }
    switch (meaning.kind) {
      case 'found':
        return noteFound(meaning, asked);
      case 'rejected':
      case 'not_found':
        if (meaning.isSure || (meaning.kind === 'not_found' && meaning.form !== 'page')) break;
        return noteRefusal(meaning, asked);
      case 'refused':
        return noteRefusal(meaning, asked);
      case 'quota':
        // Nothing says when there is more.
        if (meaning.retryAfterMs === undefined) {
          stop(stopOf(meaning));
          return { signal: 'none', verdict: 'drop' };
        }
        return noteThrottled(meaning, asked);
      case 'throttled':
        return noteThrottled(meaning, asked);
      case 'away':
      case 'machine':
        return noteAway(meaning, asked);
      case 'failed':
        return noteFailed(meaning, asked);
      case 'redirect':
        return BELIEVED;
      case 'pending':
        break;
    }
    success(asked);
    return GOOD;
  }

  return {
    mayStart: (underWay) => {
      if (successes > 0) return true;
      const asked = hasAnswered ? 0 : row.domains.size;
      return underWay === 0 || underWay + asked < Math.max(first, MANY);
    },
    begin: () => answers,
    note: (meaning, asked, now) => {
      answers += 1;
      isReached ||= meaning.httpStatus !== undefined;
      situation = now;
      isCleared = false;
      const weighed = weigh(meaning, asked);
      return isCleared ? { ...weighed, isCleared } : weighed;
    },
    askAgain: () => {
      const isDoubt = isInDoubt();
      const next = held.findIndex(
        ({ meaning: { kind }, asked, inTurn }) =>
          inTurn ||
          (isDoubt && (kind === 'refused' || (kind !== 'found' && asked.refusals < ENOUGH - 1))),
      );
      const [one] = next >= 0 ? held.splice(next, 1) : [];
      one?.release(one.inTurn ?? 'again');
    },
    idle: () => {
      // Too few domains to tell, and none succeeded: a wrong credential must not become their verdict.
      const [unresolved, ...others] = held.filter(
        ({ asked, meaning }) => meaning.kind === 'refused' && !wasBadBefore(asked.domain),
      );
      const isOfOne = others.length === 0 && unresolved?.meaning.httpStatus === 403;
      if (successes === 0 && unresolved && !isOfOne) stop(stopOf(unresolved.meaning));
      if (isOver) return resolveHeld();
      if (isOfOne && held.length === 1) return release(() => 'believe');
      const isDoubt = isInDoubt();
      release(({ meaning: { kind }, asked, inTurn }) => {
        if (inTurn) return inTurn;
        const isOpen = (kind === 'refused' || isDoubt) && asked.refusals < ENOUGH - 1;
        return isOpen ? 'again' : 'believe';
      });
    },
    end: () => {
      isOver = true;
    },
    lastingDoubt: () => (row.isDoubt && row.first ? stopOf(row.first) : undefined),
  };
}

export const GOOD: Weighed = { signal: 'good', verdict: 'believe' };
const BELIEVED: Weighed = { signal: 'none', verdict: 'believe' };
const LIMIT: Weighed = { signal: 'limit', verdict: 'again' };

const emptyRow = (): Row => ({
  domains: new Set(),
  groups: new Map(),
  first: undefined,
  throttled: new Set(),
  isDoubt: false,
});

function isLimit(seen: number | KnownLimit | undefined): seen is KnownLimit {
  return typeof seen === 'object';
}

function keyOf({ kind, httpStatus, likeness }: Meaning): string {
  return kind === 'found' ? likeness : `${httpStatus} ${likeness}`;
}

/** What counts as the same: an outage has many faces, and one body is one refusal. */
function groupOf(meaning: Meaning): string {
  const { kind, httpStatus } = meaning;
  if (kind === 'rejected' || kind === 'found') return keyOf(meaning);
  return kind === 'refused' ? `${kind} ${httpStatus}` : kind;
}

/** The stop for what all domains get. */
function stopOf(meaning: Meaning): Stop {
  const { kind, httpStatus } = meaning;
  if (kind === 'found') return { reason: 'misdirected', seen: 'same_answer' };
  if (kind === 'away' || kind === 'machine') return { reason: 'outage', trouble: meaning.reason };
  const refusal = { httpStatus: httpStatus ?? 0, said: meaning.said ?? '', reason: meaning.reason };
  if (kind === 'quota') return { reason: kind, refusal };
  if (meaning.isSure && kind === 'refused') return { reason: 'unauthorized', refusal };
  const isOfCaller = kind === 'refused' && meaning.reason !== 'wall';
  const reason = isOfCaller ? (REASONS[httpStatus ?? 0] ?? 'refused') : 'refused';
  return { reason, refusal };
}

const REASONS: Readonly<Partial<Record<number, Stop['reason']>>> = {
  401: 'unauthorized',
  402: 'quota',
  403: 'forbidden',
};
