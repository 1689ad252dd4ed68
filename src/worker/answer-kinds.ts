import type { Meaning } from '../brand/meaning.ts';

/**
 * Kinds of bad answers, and whom each is about. A refusal is an experiment: a few of the refused
 * domains are asked again, beside new ones, and what comes then tells.
 *
 * ```text
 *             the same again: unlikely by chance
 *   unknown ──────────────────────────────────────▶ own      the domain's: believed at once
 *     │  ▲ └───── as good as any new one ─────────▶ chance   the server's: plain retries; own if
 *     │  └── one of fifty checks is bettered ─ own    │       more of the same get it again
 *     │                                              │ gone at a lower rate, back at a higher one
 *     └─ twice all refused, and well between ─▶ limit ◀┘     the pace's: costs no attempt
 *                                                 │
 *                  chance ◀── as often at half of the rate that was accepted
 * ```
 *
 * Where some that were asked again were well and others were not, it is chance, too: each domain is
 * told by itself.
 */
export type About = 'unknown' | 'own' | 'chance' | 'limit';

/** What turned out of a kind of answer that is no plain one, for a person to check. */
export interface Finding {
  readonly about: Exclude<About, 'unknown'>;
  readonly httpStatus: number | undefined;
  /** One of our words for it, such as `http_403` or `timeout`. */
  readonly reason: string;
  /** The share of domains that got it while all was well: 0 to 1. */
  readonly share: number;
}

/** What is known of one kind of bad answer. */
export class AnswerKind implements Pick<Finding, 'httpStatus' | 'reason'> {
  readonly httpStatus: number | undefined;
  readonly reason: string;
  about: About;
  /**
   * A verdict on the domain by itself, such as a 404 in JSON: no domain is asked again for it
   * alone.
   */
  readonly isPlain: boolean;
  /** What all of its level got. */
  readonly totals: Totals;
  /** Whether it says by itself that it is a limit, as 429 does; and whether it may be one. */
  readonly isLimitByName: boolean;
  readonly mayBeLimit: boolean;
  /** Whether it says nothing of a domain: a limit or a failure, such as 500; or a failure. */
  readonly isOfMoment: boolean;
  readonly isFailure: boolean;
  /** Whether it is waited out though it is no limit. */
  isSpell = false;
  /** How often it came of late to domains that were asked for the first time, and to any. */
  readonly fresh: Recent = { count: 0, at: 0 };
  readonly any: Recent = { count: 0, at: 0 };
  /** How often probes got it of late: domains that are known to be well. */
  readonly probed: Recent = { count: 0, at: 0 };
  /** How often it came while all was well. */
  usual = 0;
  /** How often it came of late to domains that were well at last, by good answers. */
  readonly ofWell: Recent = { count: 0, at: 0 };
  /** The logarithm of how much likelier it is the domains' own than by chance. */
  evidence = 0;
  /** Domains that got the same again; answers that asking again made good. */
  readonly same = new Set<string>();
  bettered = 0;
  /** The same where nobody else was well in between; and pauses at the end that made none good. */
  lifted = 0;
  pauses = 0;
  /** Domains that failed however often they were asked again. */
  hopeless = 0;
  /**
   * The good answer after which a repeat was counted last: repeats after the same one count once.
   */
  countedAt = -1;
  /** Domains of which it turned out to be their own. */
  own = 0;
  /** The share of all tries that has nothing to do with the rate. */
  baseShare = 0;
  /** How often nothing but it came for a while, and when that was last: a count of good answers. */
  blocks = 0;
  blockedAt = 0;
  /** Domains that got it then and were well afterwards. */
  unblocked = 0;

  constructor(meaning: Meaning, totals: Totals) {
    const { kind, httpStatus, form, isSure } = meaning;
    const isLimitByName = kind === 'throttled' || kind === 'quota';
    this.isOfMoment = isLimitByName || kind === 'away' || kind === 'machine';
    const isPlain =
      kind === 'found' ||
      (kind === 'not_found' && form !== 'page') ||
      (isSure === true && !this.isOfMoment);
    this.httpStatus = httpStatus;
    this.reason = 'reason' in meaning ? meaning.reason : '';
    this.about = isLimitByName ? 'limit' : isPlain ? 'own' : 'unknown';
    this.isPlain = isPlain;
    this.totals = totals;
    this.isLimitByName = isLimitByName;
    this.mayBeLimit = isLimitByName || (!isPlain && kind !== 'failed' && totals.name === 'call');
    this.isFailure = kind === 'away';
  }

  /** A pause has made a domain good. */
  lift(): void {
    this.lifted += 1;
    this.pauses = Math.max(0, this.pauses - 1);
  }

  /** Whether it may well have nothing to do with the domain that gets it. */
  get isUncertain(): boolean {
    return this.about === 'chance' || (this.about !== 'own' && this.isOfMoment);
  }
}

/**
 * How many were asked for the first time, and answers: of calls, or of the single domains of a
 * reply about several. A limit refuses calls, however many domains they are about.
 */
export interface Totals {
  readonly name: 'call' | 'part';
  tries: number;
  answers: number;
}

/** What is recent: so many tries. */
const RECENT = 32;
const DECAY = 1 - 1 / RECENT;
/** Evidence of one to four hundred decides. */
const DECIDED = 6;
/** No more is kept, so that a change shows. */
const MOST_EVIDENCE = 8;
/** So many domains at least. */
const ENOUGH = 4;
/** One machine of four may be sick whatever domains get. */
const SICK = 0.25;
/** Where it is the domain's own it comes again nearly always, and where not, hardly ever. */
const ALWAYS = 0.97;
/** One of so many that are believed is asked again: a belief that is wrong does not last. */
const CHECKED = 50;
/** How unlikely by chance the refusals of one domain have to be until they are its own. */
const UNLIKELY = 0.003;
const LEAST_PRIOR = 0.05;
const SELDOM = 0.02;
/** And those of several together, or so many of them: each half tells more. */
const UNLIKELY_TOGETHER = 0.3;
const MOST_TOGETHER = 4;
/** So many that were bettered tell how often it comes by chance, of late: so many good answers. */
const ENOUGH_BETTERED = 8;
const SLOW_DECAY = 1 - 1 / 128;
/** It may come by chance so often, however seldom it did. */
const AT_LEAST = 0.2;
const MOST_KINDS = 100;

/** All kinds of bad answers of an API, and how often each comes. */
export class AnswerKinds {
  readonly #kinds = new Map<string, AnswerKind>();
  readonly calls: Totals = { name: 'call', tries: 0, answers: 0 };
  readonly parts: Totals = { name: 'part', tries: 0, answers: 0 };
  readonly #probes: Recent = { count: 0, at: 0 };
  #goods = 0;
  #usual = 0;
  #usualBad = 0;

  /** @param totals of calls or of parts. @default of calls */
  of(meaning: Meaning, totals: Totals = this.calls): AnswerKind {
    const group = `${totals.name} ${groupOf(meaning)}`;
    const known = this.#kinds.get(group);
    if (known) return known;
    if (this.#kinds.size >= MOST_KINDS) this.#kinds.clear();
    const kind = new AnswerKind(meaning, totals);
    this.#kinds.set(group, kind);
    return kind;
  }

  /** An answer. @param kind undefined: it was good */
  tried(kind: AnswerKind | undefined, isFresh: boolean, totals: Totals = this.calls): void {
    totals.answers += 1;
    if (isFresh) totals.tries += 1;
    if (!kind) {
      this.#goods += 1;
      return;
    }
    count(kind.any, totals.answers);
    if (isFresh) count(kind.fresh, totals.tries);
  }

  /** How many lookups were well. */
  get goods(): number {
    return this.#goods;
  }

  /** What turned out. A limit told by 429 is no news, nor what came in an outage alone. */
  findings(): readonly Finding[] {
    return [...this.#kinds.values()].flatMap((kind) => {
      const { about, httpStatus, reason, usual, isPlain } = kind;
      if (about === 'unknown' || isPlain) return [];
      if (about === 'limit' && (kind.isLimitByName || kind.isSpell)) return [];
      if (about === 'chance' && usual === 0) return [];
      return [{ about, httpStatus, reason, share: usual / this.#usual }];
    });
  }

  /** A domain that was found before gets it now: it is hardly the domains' own. */
  probeFailed(kind: AnswerKind): void {
    count(kind.probed, kind.totals.answers);
    kind.evidence += Math.log(SICK / Math.max(SICK, this.share(kind)));
  }

  /** A domain that was found before was asked. */
  noteProbe(): void {
    count(this.#probes, this.calls.answers);
  }

  /** A probe was well while nothing but this kind came: were it by chance, that would be seldom. */
  probeWell(kind: AnswerKind): void {
    kind.evidence -= Math.log(1 - Math.min(0.95, this.#chance(kind)));
    this.#decide(kind);
  }

  /** All is well: what came until now is what usually comes. */
  noteUsual(goods: number, bad: ReadonlyMap<AnswerKind, number>): void {
    this.#usual += goods;
    for (const [kind, count] of bad) {
      kind.usual += count;
      this.#usual += count;
      this.#usualBad += count;
    }
  }

  /** The share of domains asked of late for the first time that got it. */
  share(kind: AnswerKind): number {
    return shareOf(kind.fresh, kind.totals.tries);
  }

  /** The share of domains that are known to be well that got it of late; 1 if none was asked. */
  probedShare(kind: AnswerKind): number {
    const probed = leftOf(kind.probed, kind.totals.answers) + 1;
    return probed / (leftOf(this.#probes, this.calls.answers) + 1);
  }

  /** Whether a domain that is known to be well got it of late. */
  isOfProbes(kind: AnswerKind): boolean {
    return leftOf(kind.probed, kind.totals.answers) > 0.5;
  }

  /** The share by which it may come by chance, whoever is asked. */
  #chance(kind: AnswerKind): number {
    return Math.max(this.share(kind), shareOf(kind.any, kind.totals.answers));
  }

  /** How often any of them comes when all is well. */
  usual(): number {
    return Math.min(0.95, (this.#usualBad + 0.5) / (this.#usual + 10));
  }

  /** Whether it comes more often than its base share explains. */
  isExcess(kind: AnswerKind): boolean {
    const { baseShare, fresh } = kind;
    const most = Math.min(1.4 * baseShare + 0.12, (1 + baseShare) / 2);
    return this.share(kind) > most && fresh.count > 4;
  }

  /**
   * A domain was asked again, after a good answer to another.
   */
  repeated(kind: AnswerKind, isSame: boolean): void {
    // One that was refused is asked again at about the same time: by chance that is likelier.
    const share = Math.min(0.95, 0.06 + 1.1 * this.#chance(kind));
    if (isSame) kind.evidence += Math.log(ALWAYS / share);
    else kind.evidence += Math.log((1 - ALWAYS) / (1 - share));
    if (!isSame) kind.bettered += 1;
    if (!isSame) this.#reopen(kind);
    this.#decide(kind);
  }

  #decide(kind: AnswerKind): void {
    if (kind.about !== 'unknown' && kind.about !== 'chance') return;
    kind.evidence = Math.max(-MOST_EVIDENCE, Math.min(MOST_EVIDENCE, kind.evidence));
    const { size } = kind.same;
    if (kind.evidence > DECIDED && size >= ENOUGH) {
      // Of what comes by chance, too, each domain is told by itself.
      kind.about = size >= ENOUGH * (1 + 4 * kind.bettered) ? 'own' : 'chance';
    } else if (kind.evidence < -DECIDED && kind.bettered > 0) kind.about = 'chance';
  }

  /** What was taken for the domains' own may be none. */
  #reopen(kind: AnswerKind): void {
    if (kind.about !== 'own') return;
    kind.about = 'unknown';
    kind.evidence = 0;
    kind.same.clear();
  }

  /** It has nothing to do with the rate: with its domains, or with nothing. */
  noteBaseShare(kind: AnswerKind, share: number): void {
    kind.baseShare = Math.max(kind.baseShare, share);
    if (kind.bettered > 0 || kind.about === 'limit') kind.about = 'chance';
  }

  /**
   * A domain whose own it is. Returns whether that is to be checked: often at first, one of fifty
   * later.
   */
  noteOwn(kind: AnswerKind): boolean {
    kind.own += 1;
    if (kind.about === 'limit')
      kind.baseShare = Math.max(kind.baseShare, kind.own / kind.totals.tries);
    const { own } = kind;
    return own % CHECKED === 0 || (own > 1 && own < CHECKED && Number.isInteger(Math.log2(own)));
  }

  /** Whether one domain gets it so many times more by chance alone only seldom. */
  isUnlikely(kind: AnswerKind, same: number): boolean {
    return this.#chance(kind) ** same < SELDOM;
  }

  /** Whether so many refusals of several together may be for one of them. */
  isOfOne(kind: AnswerKind, same: number, bad: number): boolean {
    return (
      (kind.about !== 'chance' && bad > MOST_TOGETHER) ||
      this.#chance(kind) ** same < UNLIKELY_TOGETHER
    );
  }

  /** A domain was well at last, after so many of the kind. */
  wellAfter(kind: AnswerKind, refusals: number): void {
    const { ofWell } = kind;
    ofWell.count = leftOf(ofWell, this.#goods, SLOW_DECAY) + refusals;
    ofWell.at = this.#goods;
  }

  /**
   * The share by which domains that are well get it by chance, and that of domains whose own it is:
   * what explains the rest. Undefined while few are known.
   */
  #shares(kind: AnswerKind): { readonly own: number; readonly chance: number } | undefined {
    if (kind.about !== 'chance' || kind.bettered < ENOUGH_BETTERED) return undefined;
    const perGood =
      leftOf(kind.ofWell, this.#goods, SLOW_DECAY) / lastingOf(this.#goods, SLOW_DECAY);
    const chance = perGood / (1 + perGood);
    return { chance, own: Math.max(0, (this.share(kind) - chance) / (1 - chance)) };
  }

  /** The share by which domains that turned out well get it by chance; 0 while few are known. */
  wellShare(kind: AnswerKind): number {
    return this.#shares(kind)?.chance ?? 0;
  }

  /** Whether so many refusals of one domain are its own. */
  isOfDomain(kind: AnswerKind, same: number): boolean {
    const shares = this.#shares(kind);
    // Of a limit, what is refused again and again would count as limit itself.
    const isFresh = kind.about === 'limit';
    const recent = shares?.chance ?? (isFresh ? this.share(kind) : this.#chance(kind));
    // What is left at the end of a list may be nothing else: domains that are well are compared,
    // too.
    const share = Math.min(ALWAYS, Math.max(AT_LEAST, Math.min(recent, this.probedShare(kind))));
    // The fewer domains it was the own of, the less likely it is that of one more.
    const prior = Math.min(
      1,
      Math.max(LEAST_PRIOR, shares?.own ?? 0, (10 * kind.own + 20) / (kind.totals.tries + 20)),
    );
    return share ** same < prior * UNLIKELY;
  }
}

/** Counts what came, each the less, the longer ago: as of the `at`th of all. */
interface Recent {
  count: number;
  at: number;
}

function count(recent: Recent, all: number): void {
  recent.count = leftOf(recent, all) + 1;
  recent.at = all;
}

/** What is left of it. */
function leftOf({ count: of, at }: Recent, all: number, decay = DECAY): number {
  return of * decay ** (all - at);
}

/** What would be left if each of all had counted. */
const lastingOf = (all: number, decay = DECAY): number => (1 - decay ** all) / (1 - decay);

const shareOf = (recent: Recent, all: number): number =>
  leftOf(recent, all) / Math.max(1, lastingOf(all));

/** Answers of one group are one kind. Texts do not count. */
function groupOf({ kind, httpStatus, form, ...meaning }: Meaning): string {
  if (kind === 'found') return 'same record';
  const why = httpStatus ?? ('reason' in meaning ? meaning.reason : '');
  return form === 'page' ? `${why} ${kind} page` : `${why} ${kind}`;
}
