import type { Answer, Writer } from '../brand/answer.ts';
import type { Misdirection } from '../brand/outcome.ts';
import { withoutCall } from '../brand/wording.ts';
import { createWaitQueue } from '../common/run-control.ts';

/**
 * Whether answers can be believed, as only several of them together can show. `brand/answer.ts`
 * says what one answer means.
 *
 * | state | what it is | next |
 * |---|---|---|
 * | `doubtful` | the first calls: five at a time, or as many as `calls` says, go ahead of all others | `heard` at the first answer that a wrong address cannot give; `stopped` when five different domains all gave the same sign |
 * | `heard` | the API has spoken: all calls go | stays so; `stopped` when five different domains were refused in the same words with no success between them |
 * | `stopped` | nothing that is held back is kept | ends |
 *
 * Each verdict is weighed by what other domains got:
 * - A page or text for people where JSON came before is not the API's: it becomes `try_again`. So
 *   does JSON that another server wrote, or that shares no name with what the API says of unknown
 *   domains. If three domains get the same on every try, with successes between, it is the API's
 *   own way to speak after all.
 * - Refusals are held back until a success shows that the caller is not refused. What was under way
 *   when the refusal came shows nothing. So are good answers that may be the same for all, until
 *   another one comes. Five domains in a row with one answer are no verdicts on any of them.
 *
 * When no lookup is under way, what is held back is released as believed: a short list has no more
 * to tell. The domains still count, so that many short lists tell as much as a long one.
 */
export interface Credence {
  /** True once calls need not wait here. */
  readonly isOpen: boolean;
  /**
   * Waits until one of the first calls may start.
   *
   * @throws the signal's reason when it fires first
   */
  pass(signal: AbortSignal): Promise<void>;
  /** One of the first calls has ended, whatever it brought. */
  ended(): void;
  /** A call begins. Returns when, as `weigh` wants to know. */
  begin(): number;
  /**
   * Notes the answer of a call, and takes one that is not the API's for what it is.
   *
   * @param begun what `begin` returned for the call. @default it began after all other answers came
   */
  weigh(answer: Answer, domain: string, begun?: number): Answer;
  /**
   * Notes an answer of one of the first calls.
   *
   * @param isTelling whether the sign in it may count. False when the domain may as well be the
   *   cause. Asked only about answers with a sign
   */
  note(answer: Answer, domain: string, isTelling: () => boolean): void;
  /** What becomes of the last answer of a lookup. A promise while that is open. */
  believe(answer: Answer, domain: string): 'kept' | Promise<Belief>;
  /** No lookup is under way. */
  idle(): void;
}

/**
 * What becomes of an outcome: it is kept; it is dropped, as if the domain had not been asked; or it
 * is no verdict on the domain, which has `failed`.
 */
export type Belief = 'kept' | 'dropped' | 'failed';

/** Why answers cannot be believed. */
export type Disbelief =
  | { readonly reason: 'misdirected'; readonly seen: Misdirection }
  | {
      readonly reason: 'forbidden' | 'refused';
      /** What five domains were answered. */
      readonly refusal: { readonly httpStatus: number; readonly said: string };
    };

export interface CredenceOptions {
  /** Called once, when answers cannot be believed. */
  readonly onDisbelief: (why: Disbelief) => void;
  /** How many calls go ahead. @default 5 */
  readonly calls?: number | undefined;
  /** Whether the API has given good answers in an earlier run. @default false */
  readonly hasAnswered?: boolean | undefined;
  /** Whether the API refused a domain in an earlier run. @default always false */
  readonly wasRefusedBefore?: ((domain: string) => boolean) | undefined;
  /** Whether refusals in a row are believed, however many. @default false */
  readonly isTrusting?: boolean | undefined;
}

/** So many different domains make a verdict on the address or the caller. */
const MANY = 5;
/** Used when the API has answered before: a run with few new domains may have only odd ones. */
export const CALLS_WHERE_ANSWERED = 20;
/** So many domains on which a way to speak lasted show that it is the API's. */
const ENOUGH_TO_LEARN = 3;
/** The chance at which refusals in a row are no chance any more. */
const NO_CHANCE = 1e-7;
/** In characters. */
const LONGEST_SAID = 200;
/** Ways to speak, and wordings, that are remembered. An API has few. */
const MOST_REMEMBERED = 200;

/** Domains that got the same answer with no success between. */
interface Row {
  /** Whether it is a good answer, rather than a refusal. */
  readonly isGood: boolean;
  readonly domains: Set<string>;
}

/** An answer that is believed once there is a success in a call that began after it came. */
interface Unproven {
  /** How many answers had come. */
  readonly at: number;
  /** Ends the wait of its lookup, once that has ended. */
  release?: (belief: Belief) => void;
}

export function createCredence({
  onDisbelief,
  calls = MANY,
  isTrusting = false,
  hasAnswered = false,
  wasRefusedBefore = () => false,
}: CredenceOptions): Credence {
  // Where JSON came in an earlier run, a page is not the API's, however few there are.
  const foreignBelief: Belief = hasAnswered ? 'failed' : 'kept';
  let state: 'doubtful' | 'heard' | 'stopped' = 'doubtful';
  // Doubtful: the first calls.
  let underWay = 0;
  let sign: Misdirection | undefined;
  let words: string | undefined;
  const signed = new Set<string>();
  const waiting = createWaitQueue();
  let heldForSign: { readonly answer: Answer; readonly release: (belief: Belief) => void }[] = [];
  // Heard: who speaks, and which refusals have no success between them.
  const voices = createVoices();
  const rows = new Map<string, Row>();
  const unproven = new Map<string, Unproven>();
  let answers = 0;
  /** The domains that were refused last. */
  const sighted = new Set<string>();
  /** How many refusals of a wording turned out to be about their domains. */
  const believed = new Map<string, number>();
  let verdicts = 0;

  function enter(next: 'heard' | 'stopped'): void {
    if (state === next || state === 'stopped') return;
    state = next;
    const held = heldForSign;
    heldForSign = [];
    for (const { release } of held) release(next === 'heard' ? 'kept' : 'dropped');
    if (next === 'stopped') {
      for (const { release } of unproven.values()) release?.('dropped');
      unproven.clear();
      rows.clear();
    }
    wakeAll();
  }

  function wakeAll(): void {
    while (waiting.length > 0) waiting.wakeNext();
  }

  function stop(why: Disbelief): void {
    if (state === 'stopped') return;
    onDisbelief(why);
    enter('stopped');
  }

  /** The sign in one of the first answers; of a good answer, that all have the same body. */
  function signOf(answer: Answer): Misdirection | undefined {
    if (answer.kind !== 'found') return answer.sign;
    const same = wordsOfGood(answer);
    if (same === undefined || (words !== undefined && words !== same)) return undefined;
    words = same;
    return 'same_answer';
  }

  function note(answer: Answer, domain: string, isTelling: () => boolean): void {
    if (state !== 'doubtful') return;
    const seen = signOf(answer);
    if (seen ? !isTelling() : NEUTRAL.has(answer.kind)) return;
    if (seen === undefined || (sign !== undefined && sign !== seen)) return enter('heard');
    sign = seen;
    signed.add(domain);
    if (signed.size >= mostSigned()) stop({ reason: 'misdirected', seen });
  }

  /** One good answer has none beside it that it could be the same as. */
  function mostSigned(): number {
    return sign === 'same_answer' ? Math.max(calls, MANY) : calls;
  }

  /** What came before a call began is about its domains, and so is what came in a row. */
  function success(begun: number): void {
    for (const [domain, { at, release }] of unproven) {
      if (at > begun) continue;
      unproven.delete(domain);
      release?.('kept');
    }
    for (const [wording, { domains, isGood }] of rows) {
      const before = believed.get(wording);
      // Most good answers come once.
      if (!isGood || domains.size > 1 || before !== undefined) {
        remember(believed, wording, (before ?? 0) + domains.size);
      }
    }
    rows.clear();
  }

  /**
   * How many domains in a row are too many: five, or more of a refusal that successes were mixed
   * with before, so that chance does not make a row of them.
   */
  function rowLength(wording: string): number {
    // Less than 1: each of these refusals is a verdict, and so is the success that made it believed.
    const share = (believed.get(wording) ?? 0) / verdicts;
    if (share === 0) return MANY;
    return Math.max(MANY, Math.ceil(Math.log(NO_CHANCE) / Math.log(share)));
  }

  /** Whether the first calls decide what an answer is worth. */
  const isSign = (answer: Answer): boolean => state === 'doubtful' && answer.sign !== undefined;

  /** Notes an answer that may be about all domains when it comes: until its lookup has ended, others may come. */
  function sight(answer: DoubtfulAnswer, domain: string, begun: number): void {
    // Asked once more, it says no more than before.
    if (sighted.has(domain)) return;
    sighted.add(domain);
    const [oldest = ''] = sighted;
    if (sighted.size > MOST_REMEMBERED) sighted.delete(oldest);
    const isGood = answer.kind === 'found';
    const wording = wordingOf(answer);
    // Two good answers that differ are about their domains.
    if (isGood && !rows.has(wording)) success(begun);
    verdicts += 1;
    if (isTrusting || wasRefusedBefore(domain)) return;
    const row = rows.get(wording) ?? { isGood, domains: new Set() };
    rows.set(wording, row);
    row.domains.add(domain);
    unproven.set(domain, { at: isGood ? 0 : answers });
    if (row.domains.size < rowLength(wording)) return;
    const { kind, httpStatus } = answer;
    const said = kind === 'found' ? answer.json.slice(0, LONGEST_SAID) : answer.reason;
    const refusal = { httpStatus, said };
    stop({ reason: kind === 'forbidden' ? 'forbidden' : 'refused', refusal });
  }

  function believeProven(domain: string): 'kept' | Promise<Belief> {
    const one = unproven.get(domain);
    if (!one) return 'kept';
    return new Promise((release) => {
      one.release = release;
    });
  }

  return {
    get isOpen() {
      return state === 'heard';
    },
    pass: async (signal) => {
      while (state === 'doubtful' && underWay + signed.size >= mostSigned()) {
        signal.throwIfAborted();
        await waiting.wait(signal);
      }
      underWay += 1;
    },
    ended: () => {
      underWay -= 1;
      if (state === 'doubtful') wakeAll();
    },
    begin: () => answers,
    weigh: (answer, domain, begun = answers) => {
      answers += 1;
      const weighed = state === 'heard' ? voices.weigh(answer) : answer;
      if (state !== 'stopped') {
        if (state === 'heard' && isSameForAll(weighed)) sight(weighed, domain, begun);
        else if (isSuccess(weighed)) {
          verdicts += 1;
          success(begun);
        } else if (isRefusal(weighed) && !isSign(weighed)) sight(weighed, domain, begun);
        else if (weighed !== answer && mayBeOfCaller(answer)) sight(answer, domain, begun);
      }
      return weighed;
    },
    note,
    believe: (answer, domain) => {
      // It is no verdict, and will be asked again.
      if (answer.kind === 'pending') return 'kept';
      voices.note(answer, domain, state === 'heard');
      if (state === 'stopped') return Promise.resolve('dropped');
      if (isRefusal(answer) && !isSign(answer)) return believeProven(domain);
      if (state === 'heard') return isSameForAll(answer) ? believeProven(domain) : 'kept';
      return new Promise((release) => heldForSign.push({ answer, release }));
    },
    idle: () => {
      const held = heldForSign;
      heldForSign = [];
      for (const { answer, release } of held) release(isForPeople(answer) ? foreignBelief : 'kept');
      for (const { release } of unproven.values()) release?.('kept');
      unproven.clear();
    },
  };
}

type RefusingAnswer = Extract<Answer, { kind: 'rejected' | 'forbidden' | 'invalid_response' }>;
type GoodAnswer = Extract<Answer, { kind: 'found' }>;
type CallersAnswer = Extract<Answer, { kind: 'unauthorized' | 'quota_used_up' }>;
/** An answer that five domains in a row do not get of their own. */
type DoubtfulAnswer = RefusingAnswer | GoodAnswer | CallersAnswer;

function isRefusal(answer: Answer): answer is RefusingAnswer {
  return (
    // What a rule of the API's profile knows by more than the status is about the domain.
    (answer.kind === 'rejected' && answer.isSure !== true) ||
    answer.kind === 'forbidden' ||
    (answer.kind === 'invalid_response' && answer.isWhole === true)
  );
}

/** Whether a good answer may well be the same for all domains. */
function isSameForAll(answer: Answer): answer is GoodAnswer {
  const tells = answer.kind === 'found' ? answer.writer?.tells : undefined;
  return tells === 'nothing' || tells === 'record';
}

/**
 * Whether an answer that is not the API's may still be about the caller, when five domains get it. A
 * page that refuses is more often there for the moment.
 */
function mayBeOfCaller(answer: Answer): answer is RefusingAnswer | CallersAnswer {
  return (
    answer.kind === 'unauthorized' ||
    answer.kind === 'quota_used_up' ||
    ((answer.kind === 'rejected' || answer.kind === 'forbidden') && answer.writer?.form !== 'page')
  );
}

function wordingOf(answer: DoubtfulAnswer): string {
  if (answer.kind === 'found') return wordsOfGood(answer) ?? answer.json;
  return answer.writer?.wording ?? `${answer.httpStatus} ${answer.reason}`;
}

/** What a good answer says, if that may be the same for all. */
function wordsOfGood(answer: GoodAnswer): string | undefined {
  if (!isSameForAll(answer)) return undefined;
  return answer.writer?.wording ?? withoutCall(answer.json);
}

function isForPeople({ writer }: Pick<Answer, 'writer'>): boolean {
  return writer?.form === 'page' || writer?.form === 'text';
}

/** Only an accepted caller gets these answers. */
function isSuccess({ kind }: Answer): boolean {
  return kind === 'found' || kind === 'not_found';
}

/** Answers that say nothing about the address. Other code deals with them. */
const NEUTRAL: ReadonlySet<Answer['kind']> = new Set([
  'throttled',
  'try_again',
  'pending',
  'unauthorized',
  'forbidden',
  'quota_used_up',
  'redirect',
]);

function remember(counts: Map<string, number>, key: string, count: number): void {
  if (counts.size < MOST_REMEMBERED || counts.has(key)) counts.set(key, count);
}

/** Tells the API's own verdicts from those of a gateway. */
interface Voices {
  weigh(answer: Answer): Answer;
  /** Notes how a lookup ended. */
  note(answer: Answer, domain: string, isHeard: boolean): void;
}

function createVoices(): Voices {
  /** The servers that sent good answers. */
  const servers = new Set<string>();
  let goodAnswers = 0;
  /** Names that the API uses when it says that a domain is unknown. */
  const names = new Set<string>();
  let misses = 0;
  /** Ways to speak that are the API's, although they look foreign. */
  const own = new Set<string>();
  /** The ways in which answers spoke that were taken for those of others. */
  const taken = new WeakMap<Writer, string>();
  /** Foreign ways to speak, with the domains on which they lasted. */
  const lasting = new Map<string, { readonly domains: Set<string>; readonly since: number }>();

  function isForeign({ kind, writer }: Answer): boolean {
    if (!writer || own.has(voiceOf(kind, writer)) || writer.form === 'empty') return false;
    if (writer.form === 'page') return true;
    const isOther = goodAnswers >= MANY && servers.size > 0 && !servers.has(writer.server);
    const isText = writer.form === 'text';
    // Many servers leave their name out where they refuse.
    const isOtherRefusal = isOther && writer.server !== '';
    switch (kind) {
      case 'not_found':
        if (writer.isOfPath) return true;
        return (
          isText || isOther || (hasMissed() && !namesOf(writer).some((name) => names.has(name)))
        );
      case 'invalid_response':
        return isText;
      case 'rejected':
      case 'forbidden':
        // A refusal in plain words may well be the API's, unless it has said no in JSON before.
        return isOtherRefusal || (isText && hasMissed());
      default:
        return isOtherRefusal;
    }
  }

  /** Whether it is known how the API says in JSON that a domain is unknown. */
  function hasMissed(): boolean {
    return misses >= ENOUGH_TO_LEARN;
  }

  return {
    weigh: (answer) => {
      if (!canBeForeign(answer) || !isForeign(answer)) return answer;
      const { kind, httpStatus, limits, writer } = answer;
      if (writer) taken.set(writer, voiceOf(kind, writer));
      return {
        kind: 'try_again',
        httpStatus,
        reason: `gateway_${writer?.form}`,
        about: 'api',
        ...(limits ? { limits } : {}),
        ...(writer ? { writer } : {}),
      };
    },
    note: (answer, domain, isHeard) => {
      const { kind, writer } = answer;
      if (!writer) return;
      if (kind === 'found') {
        if (writer.tells === 'nothing') return;
        goodAnswers += 1;
        if (servers.size < MOST_REMEMBERED) servers.add(writer.server);
      } else if (kind === 'not_found') {
        if (writer.form === 'json') {
          misses += 1;
          for (const name of namesOf(writer)) if (names.size < MOST_REMEMBERED) names.add(name);
        }
        // Beside good answers among the first calls, this is how the API says it.
        if (!isHeard && (isForPeople(answer) || writer.isOfPath)) own.add(voiceOf(kind, writer));
      } else if (isHeard && kind === 'try_again' && writer.form !== 'page') {
        const voice = taken.get(writer);
        if (voice === undefined) return;
        const known = lasting.get(voice) ?? { domains: new Set<string>(), since: goodAnswers };
        if (lasting.size < MOST_REMEMBERED) lasting.set(voice, known);
        known.domains.add(domain);
        if (known.domains.size >= ENOUGH_TO_LEARN && goodAnswers > known.since) {
          own.add(voice);
          lasting.delete(voice);
        }
      }
    },
  };
}

/** The names of a JSON answer. One without any, such as `{}`, is a way to speak, too. */
function namesOf({ names }: Writer): readonly string[] {
  return names.length > 0 ? names : [''];
}

const CAN_BE_FOREIGN: ReadonlySet<Answer['kind']> = new Set([
  'not_found',
  'rejected',
  'forbidden',
  'invalid_response',
  'unauthorized',
  'quota_used_up',
]);

function canBeForeign({ kind, writer }: Answer): boolean {
  return kind === 'found' ? writer?.tells === 'nothing' : CAN_BE_FOREIGN.has(kind);
}

function voiceOf(kind: Answer['kind'], { form, server, names }: Writer): string {
  return [VOICES[kind] ?? 'refusal', form, server, ...names].join('\n');
}

/** Kinds that are not spoken like a refusal. */
const VOICES: Readonly<Partial<Record<Answer['kind'], string>>> = {
  found: 'found',
  not_found: 'not_found',
};
