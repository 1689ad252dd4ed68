import { validateHeaderName, validateHeaderValue } from 'node:http';
import { describeKind } from '../common/text.ts';
import { createBrandAnswer, hashText } from './brand-answer.ts';

/**
 * One line of a script: which calls it is for, and what they are answered. A call is answered by
 * the first rule that all fits; without one, the other options of the sandbox decide.
 *
 * Durations are texts such as `200ms`, `20s`, `5min`, `1h`, `2d`. Texts that are sent (headers,
 * body, raw) may hold `{domain}`, `{call}` (the number of the call), `{id}` (another text for each
 * call, as the id of a request is), `{brand}` (the invented answer, JSON) and points in time: `{in
 * 20s as FORMAT}`, or `{left as FORMAT}` for the end of the rule's own `for`, as `seconds`,
 * `fraction`, `ms` (durations), `date` (as HTTP writes it), `epoch`, `epoch-ms`, `iso`.
 *
 * @example
 * ```ts
 * // From call 30 on, a limit that says 403 for six seconds, and then lets calls through again.
 * { calls: '30-', for: '6s', status: 403, headers: { 'Retry-After': '{left as epoch}' } }
 * ```
 */
export interface SandboxRule {
  /**
   * Which calls, by their number among all that no limit, credential or quota has refused: `5`,
   * `'30-60'`, `'30-'`.
   * @default all
   */
  calls?: number | string | undefined;
  /**
   * Which domains: a name (`*` stands for any text), several, or a share of all such
   * as `'20%'`. The first fifth is `'20%'`, the next one `'20-40%'`: a domain is always in the same.
   * @default all
   */
  domains?: string | readonly string[] | undefined;
  /**
   * A share of the calls, such as `'20%'`, or `'20-40%'` for the next fifth; decided by seed, domain
   * and the ordinal of the call.
   * @default all
   */
  share?: string | undefined;
  /**
   * The first calls of each domain: so many are answered by this rule.
   * @default all
   */
  times?: number | undefined;
  /**
   * Until so long after the rule has answered a call for the first time.
   * @default for ever
   */
  for?: string | undefined;
  /**
   * Until so long after the rule has answered this domain for the first time.
   * @default for ever
   */
  forDomain?: string | undefined;
  /**
   * Only calls on a connection that has had a call before.
   * @default all
   */
  reused?: boolean | undefined;
  /**
   * Answers `GET` of this path instead of the API's, such as the one a redirect leads to.
   * @default the path of the API
   */
  path?: string | undefined;
  /** @default 200 */
  status?: number | undefined;
  /** Added to `Content-Type` (JSON, unless given here) and `Content-Length`. */
  headers?: Readonly<Record<string, string | number>> | undefined;
  /**
   * A text is sent as it is, anything else as JSON.
   * @default the invented answer for 200, 201, 203 and 206, else nothing
   */
  body?: unknown;
  /**
   * How the body is written in bytes.
   * @default 'utf8'
   */
  encoding?: 'utf8' | 'latin1' | 'utf16le' | undefined;
  /**
   * How long until it is sent.
   * @default what the option `latencyMs` says
   */
  delay?: string | undefined;
  /**
   * Close the connection after half of the promised body.
   * @default false
   */
  cut?: boolean | undefined;
  /**
   * The whole answer as it goes over the wire, for HTTP that is none; takes the place of status,
   * headers and body. The connection is closed after it.
   */
  raw?: string | undefined;
  /** No answer: the connection is reset, or stays open for ever. */
  end?: 'reset' | 'hang' | undefined;
}

/** Something wrong in a rule. */
export interface RuleProblem {
  /** The member; undefined when it is the rule as a whole. */
  readonly key: string | undefined;
  /** `must be a whole number from 200 to 999: current value is 42`. */
  readonly problem: string;
}

/** Find all that is wrong in a rule. */
export function findRuleProblems(rule: unknown): readonly RuleProblem[] {
  if (typeof rule !== 'object' || rule === null || Array.isArray(rule)) {
    return [
      {
        key: undefined,
        problem: `must be an object such as { status: 503 }: current value is ${show(rule)}`,
      },
    ];
  }
  const problems: RuleProblem[] = [];
  const given = new Map(Object.entries(rule).filter(([, value]) => value !== undefined));
  for (const [key, value] of given) {
    if (!isKey(key)) {
      const all = Object.keys(EXPECTED).join(', ');
      problems.push({ key, problem: `is unknown; there are: ${all}` });
      continue;
    }
    const { is, what } = EXPECTED[key];
    if (!is(value))
      problems.push({ key, problem: `must be ${what}: current value is ${show(value)}` });
  }
  if (problems.length > 0) return problems;
  const clash = findClash((key) => given.has(key));
  if (clash) return [clash];
  return findTextProblems(rule);
}

/** Finds members that would go unheard beside another: such a rehearsal would show nothing. */
function findClash(has: (key: keyof SandboxRule) => boolean): RuleProblem | undefined {
  for (const [key, unheard] of Object.entries(UNHEARD)) {
    const other = has(key as keyof SandboxRule) ? unheard.find(has) : undefined;
    if (other !== undefined)
      return { key, problem: `leaves no room for '${other}': leave one out` };
  }
  return undefined;
}

const UNHEARD = {
  end: ['raw', 'status', 'headers', 'body', 'encoding', 'cut', 'delay'],
  raw: ['status', 'headers', 'body', 'encoding', 'cut'],
  path: ['calls', 'domains', 'share', 'times', 'forDomain', 'reused'],
} satisfies Partial<Record<keyof SandboxRule, readonly (keyof SandboxRule)[]>>;

/** Finds placeholders that are none, and headers that HTTP cannot carry, by filling all in. */
function findTextProblems(rule: SandboxRule): readonly RuleProblem[] {
  const sent = { domain: 'acme.com', hash: 1, call: 1, seed: 1, nowMs: 0, leftMs: 0 };
  const texts = [
    ['raw', rule.raw],
    ['body', typeof rule.body === 'string' ? rule.body : JSON.stringify(rule.body)],
    ...Object.entries(rule.headers ?? {}).map(([name, value]) => [name, String(value)] as const),
  ] as const;
  const problems: RuleProblem[] = [];
  for (const [index, [name, text]] of texts.entries()) {
    const key = index < 2 ? name : 'headers';
    try {
      if (text === undefined) continue;
      const filled = fill(text, sent);
      if (rule.for === undefined && text.includes('{left ')) {
        throw new RangeError("{left as …} needs the rule's own 'for'");
      }
      if (key !== 'headers') continue;
      validateHeaderName(name);
      validateHeaderValue(name, filled);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push({ key, problem: `cannot be sent: ${why}` });
    }
  }
  return problems;
}

function isKey(key: string): key is keyof SandboxRule {
  return Object.hasOwn(EXPECTED, key);
}

function show(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'an empty text' : value;
  return JSON.stringify(value) ?? describeKind(value);
}

interface Expected {
  readonly is: (value: unknown) => boolean;
  readonly what: string;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isShareUpTo1 = (value: unknown): boolean => {
  const [, from = '0', to = '101'] = SHARE.exec(isText(value) ? value : '') ?? [];
  return Number(from) < Number(to) && Number(to) <= 100;
};
const isCount = (value: unknown): boolean => Number.isInteger(value) && Number(value) >= 1;
const DURATION: Expected = {
  is: (value) => isText(value) && readDuration(value) !== undefined,
  what: 'a duration such as 200ms, 20s, 5min, 1h or 2d',
};
const FLAG: Expected = { is: (value) => typeof value === 'boolean', what: 'true or false' };

const EXPECTED: Readonly<Record<keyof SandboxRule, Expected>> = {
  calls: {
    is: (value) => (isText(value) || typeof value === 'number') && callRange(value) !== undefined,
    what: 'a number of a call, or a range such as 30-60 or 30-',
  },
  domains: {
    is: (value) =>
      [value].flat().length > 0 &&
      [value]
        .flat()
        .every((name) => isText(name) && name !== '' && (!isShare(name) || isShareUpTo1(name))),
    what: "a domain, a list of them, a name such as '*.de', or a share such as 20% or 20-40%",
  },
  share: { is: isShareUpTo1, what: 'a share of the calls such as 20% or 20-40%' },
  times: { is: isCount, what: 'a whole number, 1 or more' },
  for: DURATION,
  forDomain: DURATION,
  reused: FLAG,
  path: {
    is: (value) => isText(value) && /^\/[^?#\s]*$/.test(value) && !value.endsWith('/v1/brand'),
    what: 'a path such as /login, other than that of the API',
  },
  status: {
    is: (value) => Number.isInteger(value) && Number(value) >= 200 && Number(value) <= 999,
    what: 'a whole number from 200 to 999',
  },
  headers: {
    is: (value) =>
      typeof value === 'object' &&
      value !== null &&
      !Array.isArray(value) &&
      Object.values(value).every((one) => isText(one) || typeof one === 'number'),
    what: 'names with texts or numbers (what begins with { goes in quotes)',
  },
  body: {
    is: (value) => typeof value !== 'function' && typeof value !== 'symbol',
    what: 'a text, or what JSON can hold',
  },
  encoding: {
    is: (value) => isText(value) && ['utf8', 'latin1', 'utf16le'].includes(value),
    what: 'one of utf8, latin1, utf16le',
  },
  delay: DURATION,
  cut: FLAG,
  raw: { is: (value) => isText(value) && value !== '', what: 'a text' },
  end: { is: (value) => value === 'reset' || value === 'hang', what: 'reset or hang' },
};

/** Whether a text is a share, such as `20%` or `20-40%`. */
export function isShare(text: string): boolean {
  return SHARE.test(text);
}

/** Whether a draw from 0 to 1 falls into a share that was checked. */
export function isInShare(share: string, drawn: number): boolean {
  const [, from = '0', to] = SHARE.exec(share) ?? [];
  return drawn >= Number(from) / 100 && drawn < Number(to) / 100;
}

const SHARE = /^(?:(\d+(?:\.\d+)?)-)?(\d+(?:\.\d+)?)%$/;

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function readDuration(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?) ?(ms|s|min|h|d)$/.exec(text) ?? [];
  const unitMs = UNITS[unit];
  return unitMs === undefined ? undefined : Math.round(Number(amount) * unitMs);
}

/** The milliseconds of a duration that was checked. */
export function durationOf(text: string): number {
  return readDuration(text) ?? 0;
}

/** The first and the last call of a range such as `30-60` or `30-`; undefined when it is none. */
export function callRange(calls: number | string): readonly [from: number, to: number] | undefined {
  const [, from, line, to] = /^(\d+)(-?)(\d*)$/.exec(String(calls)) ?? [];
  if (from === undefined || (line === '' && to !== '')) return undefined;
  const first = Number(from);
  const last = line === '' ? first : to ? Number(to) : Infinity;
  return first >= 1 && last >= first ? [first, last] : undefined;
}

/** What a text that is sent is filled in with. */
export interface Sent {
  readonly domain: string;
  readonly hash: number;
  /** The number of the call. */
  readonly call: number;
  readonly seed: number;
  readonly nowMs: number;
  /** How long the rule still answers. */
  readonly leftMs: number;
}

/** What stands in braces and is meant to be filled in: a word, or a time with its format. */
const PLACEHOLDER = /\{(?:(in|left) ([^{}"]*)|([a-z]+))\}/g;

/**
 * Fills in what stands in braces.
 *
 * @throws RangeError that names a placeholder that is none
 */
export function fill(text: string, sent: Sent): string {
  return text.replaceAll(
    PLACEHOLDER,
    (whole, when: string | undefined, time: string, word: string) => {
      if (when === undefined) return fillWord(whole, word, sent);
      const [, duration = '', format = ''] = /^(.*?) ?\bas (\S+)$/.exec(time) ?? [];
      const inMs =
        when === 'in' ? readDuration(duration) : duration === '' ? sent.leftMs : undefined;
      const write = Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined;
      if (inMs !== undefined && write) return write(inMs, sent.nowMs);
      throw new RangeError(
        `${whole} is no time; expected such as {in 20s as epoch} or {left as epoch}, as one of ${FORMAT_LIST}`,
      );
    },
  );
}

function fillWord(whole: string, word: string, { domain, hash, call, seed }: Sent): string {
  switch (word) {
    case 'domain':
      return domain;
    case 'call':
      return String(call);
    case 'id':
      return hashText(String(call), seed).toString(16).padStart(8, '0');
    case 'brand':
      return JSON.stringify(createBrandAnswer(domain, hash));
    default:
      throw new RangeError(
        `${whole} is unknown; expected {domain}, {call}, {id}, {brand}, {in 20s as epoch} or {left as epoch}`,
      );
  }
}

/** Whole numbers are rounded up: who comes back at that time does not come too early. */
const FORMATS: Readonly<Record<string, (inMs: number, nowMs: number) => string>> = {
  seconds: (inMs) => String(Math.ceil(inMs / 1_000)),
  fraction: (inMs) => (inMs / 1_000).toFixed(3),
  ms: (inMs) => String(inMs),
  date: (inMs, nowMs) => new Date(Math.ceil((nowMs + inMs) / 1_000) * 1_000).toUTCString(),
  epoch: (inMs, nowMs) => String(Math.ceil((nowMs + inMs) / 1_000)),
  'epoch-ms': (inMs, nowMs) => String(nowMs + inMs),
  iso: (inMs, nowMs) => new Date(nowMs + inMs).toISOString(),
};
const FORMAT_LIST = Object.keys(FORMATS).join(', ');
