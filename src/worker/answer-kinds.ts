import type { Meaning } from '../brand/meaning.ts';

/**
 * Kinds of bad answers, and whom each is about. A refusal is an experiment: a few of the refused domains
 * are asked again, beside new ones, and what comes then tells.
 *
 * ```text
 *             the same again: unlikely by chance
 *   unknown ──────────────────────────────────────▶ own      the domain's: believed at once
 *     │  ▲ └───── as good as any new one ─────────▶ chance   the server's: plain retries
 *     │  └── one of fifty checks is bettered ─ own    │
 *     │                                              │ gone at a lower rate, back at a higher one
 *     └─ twice all refused, and well between ─▶ limit ◀┘     the pace's: costs no attempt
 *                                                 │
 *                  chance ◀── as often at half of the rate that was accepted
 * ```
 */
export type About = 'unknown' | 'own' | 'chance' | 'limit';

/** What turned out of a kind of answer that is no plain one, for a person to check. */
export interface Finding {
  readonly about: Exclude<About, 'unknown'>;
  readonly httpStatus: number | undefined;
  /** One of our words for it, such as `http_403` or `timeout`. */
  readonly reason: string;
  /** Calls that got it, and the share of all calls that is: 0 to 1. */
  readonly calls: number;
  readonly share: number;
}

/** What is known of one kind of bad answer. */
export interface AnswerKind extends Pick<Finding, 'httpStatus' | 'reason'> {
  /** Calls that got it. */
  calls: number;
  /** Its status and sort, without its text. */
  readonly group: string;
  about: About;
  /** A verdict on the domain by itself, such as a 404 in JSON: no domain is asked again for it alone. */
  readonly isPlain: boolean;
  /** Whether it says by itself that it is a limit, as 429 does. */
  readonly isLimitByName: boolean;
  /** Whether a limit may be told so: it has a status, and is no verdict. */
  readonly mayBeLimit: boolean;
  /** How often it came of late to domains that were asked for the first time, and to any. */
  readonly fresh: Recent;
  readonly any: Recent;
  /** How often it came while all was well. */
  settled: number;
  /** Most that are told so are about the domain. */
  readonly isLikelyOwn: boolean;
  /** The logarithm of how much likelier it is the domains' own than by chance. */
  ownness: number;
  /** Domains that got the same again; answers that asking again made good. */
  readonly same: Set<string>;
  bettered: number;
  /** Domains that failed however often they were asked again. */
  hopeless: number;
  /** The good answer after which a repeat was counted last: repeats after the same one count once. */
  countedAt: number;
  /** Lookups that are asking again to find out. */
  repeating: number;
  /** Domains of which it turned out to be their own. */
  own: number;
  /** The share of all tries that has nothing to do with the rate. */
  explained: number;
  /** How often nothing but it came for a while, and when that was last: a count of good answers. */
  blocks: number;
  blockedAt: number;
  /** The highest limit that it was taken for, in calls per millisecond. */
  topPerMs: number;
  /** How often it came far below that. */
  lows: number;
  /** Good answers that had come by the first of those. */
  lowSince: number;
  /** Whether it may be none. */
  isDoubted: boolean;
}

/** What is recent: so many tries. */
const RECENT = 32;
const DECAY = 1 - 1 / RECENT;
/** Evidence of one to four hundred decides. */
const DECIDED = 6;
const LIKELY = 2;
/** So many domains at least. */
const ENOUGH = 4;
/** Where it is the domain's own it comes again nearly always, and where not, hardly ever. */
const ALWAYS = 0.97;
/** How unlikely by chance the refusals of one domain have to be until they are its own. */
const UNLIKELY = 0.003;
const UNLIKELY_AT_LAST = 0.05;
const MOST_KINDS = 100;
const MOST_TEXTS = 200;

/** All kinds of bad answers of an API, and how often each comes. */
export class AnswerKinds {
  readonly #kinds = new Map<string, AnswerKind>();
  readonly #texts = new Map<string, string>();
  tries = 0;
  answers = 0;
  settled = 0;
  settledBad = 0;

  /** The kind of an answer. Its text counts where another domain got the same. */
  of(meaning: Meaning, domain: string): AnswerKind {
    const { likeness } = meaning;
    const group = groupOf(meaning);
    const first = this.#texts.get(likeness);
    if (first === undefined) {
      if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
      this.#texts.set(likeness, domain);
    }
    const isShared = meaning.kind !== 'throttled' && first !== undefined && first !== domain;
    const key = isShared ? `${group} ${likeness}` : group;
    const known = this.#kinds.get(key);
    if (known) return known;
    if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear();
    const kind = createKind(group, meaning);
    this.#kinds.set(key, kind);
    return kind;
  }

  /** An answer. @param kind undefined: it was good */
  tried(kind: AnswerKind | undefined, isFresh: boolean): void {
    this.answers += 1;
    if (isFresh) this.tries += 1;
    if (!kind) return;
    kind.calls += 1;
    count(kind.any, this.answers);
    if (isFresh) count(kind.fresh, this.tries);
  }

  /** What turned out. Kinds that differ by their text alone are one; a limit told by 429 is no news. */
  findings(): readonly Finding[] {
    const found = new Map<string, Finding>();
    for (const {
      about,
      httpStatus,
      reason,
      calls,
      isPlain,
      isLimitByName,
    } of this.#kinds.values()) {
      if (about === 'unknown' || isPlain || (about === 'limit' && isLimitByName)) continue;
      const key = `${about} ${reason}`;
      const all = (found.get(key)?.calls ?? 0) + calls;
      found.set(key, { about, httpStatus, reason, calls: all, share: all / this.answers });
    }
    return [...found.values()];
  }

  /** A domain that was found before gets it now: it is hardly the domains' own. */
  probeFailed(kind: AnswerKind): void {
    kind.ownness += Math.log((1 - ALWAYS) / Math.max(0.3, this.share(kind)));
    if (kind.about === 'own' && !kind.isPlain) this.reopen(kind);
  }

  /** A probe was well while nothing but this kind came: were it by chance, that would be seldom. */
  probeWell(kind: AnswerKind): void {
    kind.ownness -= Math.log(1 - Math.min(0.95, this.#chance(kind)));
    this.#decide(kind);
  }

  /** All is well: what came until now is what usually comes. */
  settle(calls: number, bad: ReadonlyMap<AnswerKind, number>): void {
    this.settled += calls;
    for (const [kind, count] of bad) {
      kind.settled += count;
      this.settled += count;
      this.settledBad += count;
    }
  }

  /** The share of domains asked of late for the first time that got it. */
  share(kind: AnswerKind): number {
    return shareOf(kind.fresh, this.tries);
  }

  /** The share by which it may come by chance, whoever is asked. */
  #chance(kind: AnswerKind): number {
    return Math.max(this.share(kind), shareOf(kind.any, this.answers));
  }

  /** How often it comes when all is well; without a kind, any of them. */
  usual(kind?: AnswerKind): number {
    const bad = kind ? kind.settled : this.settledBad;
    return Math.min(0.95, (bad + 0.5) / (this.settled + 10));
  }

  /** Whether it comes more often than is explained. */
  isExcess(kind: AnswerKind): boolean {
    const { explained, fresh } = kind;
    const most = Math.min(1.4 * explained + 0.12, (1 + explained) / 2);
    return this.share(kind) > most && fresh.count > 4;
  }

  /** Something else that is bad came of it: it was hardly the domain's own. */
  changed(kind: AnswerKind): void {
    kind.ownness += Math.log((1 - ALWAYS) / (1 - Math.min(0.9, this.share(kind))));
    this.#decide(kind);
  }

  /** A domain was asked again, after a good answer to another. */
  repeated(kind: AnswerKind, isSame: boolean): void {
    // One that was refused is asked again at about the same time: by chance that is likelier.
    const share = Math.min(0.95, 0.06 + 1.1 * this.#chance(kind));
    if (isSame) kind.ownness += Math.log(ALWAYS / share);
    else kind.ownness += Math.log((1 - ALWAYS) / (1 - share));
    if (!isSame) kind.bettered += 1;
    if (kind.about === 'own' && !isSame) this.reopen(kind);
    this.#decide(kind);
  }

  #decide(kind: AnswerKind): void {
    if (kind.about !== 'unknown') return;
    if (kind.ownness > DECIDED && kind.same.size >= ENOUGH) kind.about = 'own';
    else if (kind.ownness < -DECIDED) kind.about = 'chance';
  }

  reopen(kind: AnswerKind): void {
    kind.about = 'unknown';
    kind.ownness = 0;
    kind.same.clear();
  }

  limit(kind: AnswerKind): void {
    kind.about = 'limit';
    kind.topPerMs = 0;
  }

  /** It has nothing to do with the rate: with its domains, or with nothing. */
  explain(kind: AnswerKind, share: number): void {
    kind.explained = Math.max(kind.explained, share);
    if (kind.bettered > 0 || kind.about === 'limit') kind.about = 'chance';
  }

  /**
   * Whether so many refusals of one domain are its own. @param isLast it is not asked again,
   * whatever they are
   */
  isOfDomain(kind: AnswerKind, same: number, isLast = false): boolean {
    // Of a limit, what is refused again and again would count as limit itself.
    const chance = kind.about === 'limit' ? this.share(kind) : this.#chance(kind);
    const share = Math.min(0.9, Math.max(kind.isLikelyOwn ? 0.05 : 0.2, chance));
    return share ** same < (isLast ? UNLIKELY_AT_LAST : UNLIKELY);
  }
}

/** Counts what came, each the less, the longer ago: as of the `at`th of all. */
interface Recent {
  count: number;
  at: number;
}

function count(recent: Recent, all: number): void {
  recent.count = recent.count * DECAY ** (all - recent.at) + 1;
  recent.at = all;
}

function shareOf({ count: of, at }: Recent, all: number): number {
  const full = 1 - DECAY ** all;
  return full === 0 ? 0 : (of * DECAY ** (all - at) * (1 - DECAY)) / full;
}

function createKind(group: string, meaning: Meaning): AnswerKind {
  const { kind, httpStatus, form, isSure } = meaning;
  const isLimit = kind === 'throttled' || kind === 'quota';
  const isOfMoment = isLimit || kind === 'away' || kind === 'machine';
  const isPlain =
    kind === 'found' ||
    (kind === 'not_found' && form !== 'page') ||
    (isSure === true && !isOfMoment);
  const isLikelyOwn = kind === 'rejected' || kind === 'not_found';
  return {
    group,
    httpStatus,
    reason: 'reason' in meaning ? meaning.reason : '',
    calls: 0,
    isLimitByName: isLimit,
    about: isLimit ? 'limit' : isPlain ? 'own' : 'unknown',
    isPlain,
    mayBeLimit: isLimit || (!isPlain && httpStatus !== undefined && kind !== 'failed'),
    fresh: { count: 0, at: 0 },
    any: { count: 0, at: 0 },
    settled: 0,
    ownness: isLikelyOwn ? LIKELY : 0,
    isLikelyOwn,
    same: new Set(),
    bettered: 0,
    hopeless: 0,
    countedAt: -1,
    repeating: 0,
    own: 0,
    explained: 0,
    blocks: 0,
    blockedAt: 0,
    topPerMs: 0,
    lows: 0,
    lowSince: 0,
    isDoubted: false,
  };
}

/** What counts as the same but for its text. */
function groupOf({ kind, httpStatus, form, ...meaning }: Meaning): string {
  if (kind === 'found') return 'same record';
  const why = httpStatus ?? ('reason' in meaning ? meaning.reason : '');
  return form === 'page' ? `${why} ${kind} page` : `${why} ${kind}`;
}
