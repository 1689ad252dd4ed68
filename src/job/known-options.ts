import { distance } from 'fastest-levenshtein';
import { BrandfillError } from '../common/errors.ts';
import { describeKind } from '../common/printable.ts';
import { shorten } from '../rows/columns/names.ts';
import type { Definitions } from './read-settings.ts';

/** The options that a function of the library takes. */
export interface KnownOptions {
  /** The name of the function. */
  readonly of: string;
  /** Settings that are options by the same name, except `params` and `headers`. */
  readonly definitions?: Definitions<object>;
  /** Options that are not settings, with their kinds. */
  readonly others: Readonly<Record<string, OptionKind>>;
  /** Settings that make no sense for this function, and why. */
  readonly pointless?: { readonly keys: readonly string[]; readonly why: string };
  /** Gives the name of an option in messages. */
  readonly describe: (key: string) => string;
}

/** A message lists at most this many options; if there are more, it names the README. */
const MOST_LISTED = 25;

/**
 * Refuses options that a function does not have: a mistyped option would be ignored, and a bound
 * that does not hold costs money. Options that are undefined count as not given. Options that are
 * not settings are also refused when they have the wrong type; settings are checked when they are
 * read.
 *
 * @throws BrandfillError `INVALID_SETTING` that names the option and the one that was probably
 * meant
 */
export function checkOptions(options: unknown, known: KnownOptions): void {
  const { of, others, pointless, describe } = known;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal(
      `Cannot run ${of}: expected its options as an object, received ${describeKind(options)}.`,
    );
  }
  const names = namesOf(known);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (pointless?.keys.includes(key)) {
      throw refusal(`Cannot use ${describe(key)} with ${of}: ${pointless.why}; leave it out.`);
    }
    if (!names.includes(key)) throw refusal(describeUnknown(key, names, known));
    checkKind(value, others[key] ?? 'checkedElsewhere', describe(key));
  }
}

/** @throws BrandfillError `INVALID_SETTING` when a program gives no list */
export function checkInput(input: unknown, describe: (key: string) => string): void {
  if (typeof input === 'string' && input !== '') return;
  if (typeof input === 'object' && input !== null) {
    if (Symbol.iterator in input || Symbol.asyncIterator in input) return;
  }
  throw refusal(
    `Cannot start without a list: give ${describe('input')} the path of a file, '-' for standard input, or rows as objects.`,
  );
}

function namesOf({ definitions = {}, others, pointless }: KnownOptions): readonly string[] {
  return [...Object.keys(definitions), ...Object.keys(others)].filter(
    (key) => key !== 'param' && key !== 'header' && !pointless?.keys.includes(key),
  );
}

function describeUnknown(
  key: string,
  names: readonly string[],
  { of, describe }: KnownOptions,
): string {
  const meant = findNearest(key, names);
  const all =
    names.length > MOST_LISTED
      ? 'they are listed in the README.'
      : `there are: ${names.join(', ')}.`;
  const hint = meant === undefined ? all : `did you mean ${describe(meant)}?`;
  // As it was given: what it is called otherwise may be the very name that was meant.
  return `Cannot use '${shorten(key)}': ${of} has no such option; ${hint}`;
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}

/**
 * Finds the known word that was probably meant. It is few letters away (a third of them at most),
 * or one of the two is the beginning of the other. Case, dashes and underscores do not count.
 */
export function findNearest(word: string, known: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = known
    .map((candidate) => ({ candidate, away: distance(plain, simplify(candidate)) }))
    .sort((a, b) => a.away - b.away);
  const [nearest] = ranked;
  if (nearest && nearest.away <= Math.max(1, Math.floor(plain.length / 3))) {
    return nearest.candidate;
  }
  return ranked.find(({ candidate }) => isBeginning(plain, simplify(candidate)))?.candidate;
}

function isBeginning(one: string, other: string): boolean {
  return (
    Math.min(one.length, other.length) >= 3 && (one.startsWith(other) || other.startsWith(one))
  );
}

function simplify(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}

/** The kind of value that an option has which is not a setting. */
export type OptionKind =
  /** The code that reads it checks it. */
  'checkedElsewhere' | 'text' | 'texts' | 'flag' | 'function' | 'object' | 'signal' | 'control';

interface Kind {
  readonly isMet: (value: unknown) => boolean;
  /** The kind in the words of a message. */
  readonly expected: string;
}

const KINDS: Readonly<Record<OptionKind, Kind>> = {
  checkedElsewhere: { isMet: () => true, expected: '' },
  text: { isMet: (value) => typeof value === 'string', expected: 'a text' },
  flag: { isMet: (value) => typeof value === 'boolean', expected: 'true or false' },
  function: { isMet: (value) => typeof value === 'function', expected: 'a function' },
  object: {
    isMet: (value) => typeof value === 'object' && value !== null,
    expected: 'an object',
  },
  texts: {
    isMet: (value) => Array.isArray(value) && value.every((item) => typeof item === 'string'),
    expected: 'a list of texts',
  },
  signal: { isMet: (value) => value instanceof AbortSignal, expected: 'an AbortSignal' },
  control: {
    isMet: (value) => typeof value === 'object' && value !== null && 'whileOpen' in value,
    expected: 'what createRunControl makes',
  },
};

/**
 * Refuses an option of the wrong type. Otherwise it would turn up as an internal error in the
 * middle of a run, or be ignored.
 *
 * @param label the name of the option in messages
 * @throws BrandfillError `INVALID_SETTING`; it never repeats the value, which may be a credential
 */
export function checkKind(value: unknown, kind: OptionKind, label: string): void {
  const { isMet, expected } = KINDS[kind];
  if (isMet(value)) return;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${label}: expected ${expected}, received ${describeKind(value)}.`,
  );
}
