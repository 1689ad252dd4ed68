import { BrandfillError, endSentence } from '../common/errors.ts';
import { describeKind, findNearest } from '../common/text.ts';
import { shorten } from '../rows/columns/names.ts';
import { OPTIONS_OF_SECOND } from './api-options.ts';
import type { Declaration, Declarations, SettingsOf } from './declaration.ts';
import type { OptionKey, Settings } from './options.ts';

/** The options that a function of the library takes. */
export interface KnownOptions<D extends Declarations> {
  /** The name of the function. */
  readonly of: string;
  readonly declared: D;
  /** Options that have no flag, with their kinds. */
  readonly others: Readonly<Record<string, OptionKind>>;
  /** Options that make no sense for this function, and why. */
  readonly pointless?: { readonly keys: readonly string[]; readonly why: string };
  /** Gives the name of an option in messages. */
  readonly describe: (key: string) => string;
}

/** The kinds of options that have no flag. */
export type OptionKinds<T> = Readonly<Record<keyof T, OptionKind>>;

/** The name of an option in messages to programs. The command line uses `--base-url`. */
export const libraryNaming = (key: string): string => `'${key}'`;

/**
 * Checks the options of a function, and reads its settings: from what was given, else from the
 * environment, else from the defaults.
 *
 * @throws BrandfillError `INVALID_SETTING` that names the option, what was expected and what came
 */
export function readOptions<D extends Declarations>(
  options: object,
  known: KnownOptions<D>,
): SettingsOf<D> {
  checkOptions(options, known);
  const { declared, describe } = known;
  return readSettings(declared, { given: { ...options }, env: process.env, describe });
}

/** The sources of settings. */
export interface SettingSources {
  /** By key: texts as on the command line, or values as programs give them. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gives the name of an option in messages, such as `--base-url`. */
  readonly describe: (key: string) => string;
}

/** Reads settings of options that were checked before. @throws BrandfillError as `readOptions` */
export function readSettings<D extends Declarations>(
  declared: D,
  { given, env, describe }: SettingSources,
): SettingsOf<D> {
  const read = Object.entries(declared).map(([key, declaration]) => {
    const fromEnv = declaration.env === undefined ? undefined : env[declaration.env] || undefined;
    const value = given[key] ?? fromEnv ?? declaration.default;
    const label =
      given[key] === undefined && fromEnv !== undefined ? declaration.env : describe(key);
    return [key, value === undefined ? undefined : parse(declaration, value, label ?? key)];
  });
  return Object.fromEntries(read) as SettingsOf<D>;
}

function parse({ kind }: Declaration, value: unknown, label: string): unknown {
  try {
    return kind.parse(value);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const message = endSentence(`Cannot use ${label}: ${error.message}`);
    throw new BrandfillError('INVALID_SETTING', message, { cause: error });
  }
}

/** A message lists at most this many options; if there are more, it names the page with all. */
const MOST_LISTED = 25;

/**
 * Refuses options that a function does not have: a mistyped option would be ignored, and a bound
 * that does not hold costs money. Options that are undefined count as not given. Options that have
 * no flag are also refused when they have the wrong type; others are checked when they are read.
 *
 * @throws BrandfillError `INVALID_SETTING` that names the option and the one that was probably
 * meant
 */
export function checkOptions(options: unknown, known: KnownOptions<Declarations>): void {
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
    if (Object.hasOwn(others, key)) checkKind(value, others[key], describe(key));
  }
  for (const [key, kind] of Object.entries(others)) {
    if (REQUIRED.has(kind))
      checkKind((options as Record<string, unknown>)[key], kind, describe(key));
  }
}

function namesOf({ declared, others, pointless }: KnownOptions<Declarations>): readonly string[] {
  return [...Object.keys(declared), ...Object.keys(others)].filter(
    (key) => !pointless?.keys.includes(key),
  );
}

function describeUnknown(
  key: string,
  names: readonly string[],
  { of, describe }: KnownOptions<Declarations>,
): string {
  const meant = findNearest(key, names);
  const all =
    names.length > MOST_LISTED
      ? 'they are listed in docs/options.md.'
      : `there are: ${names.join(', ')}.`;
  const hint = meant === undefined ? all : `did you mean ${describe(meant)}?`;
  // As it was given: what it is called otherwise may be the very name that was meant.
  return `Cannot use '${shorten(key)}': ${of} has no such option; ${hint}`;
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}

/** The kind of value that an option has which has no flag. */
export type OptionKind =
  /** The code that reads it checks it. */
  | 'checkedElsewhere'
  | 'text'
  | 'texts'
  | 'flag'
  | 'function'
  | 'object'
  | 'signal'
  | 'control'
  /** These three must be given. */
  | 'list'
  | 'file'
  | 'files';

const REQUIRED: ReadonlySet<OptionKind> = new Set(['list', 'file', 'files']);

const isText = (value: unknown): boolean => typeof value === 'string';
const areTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);

const KINDS: Readonly<
  Record<
    OptionKind,
    {
      readonly isMet: (value: unknown) => boolean;
      /** The kind in the words of a message. */
      readonly expected: string;
    }
  >
> = {
  checkedElsewhere: { isMet: () => true, expected: '' },
  text: { isMet: isText, expected: 'a text' },
  file: { isMet: isText, expected: 'a text' },
  flag: { isMet: (value) => typeof value === 'boolean', expected: 'true or false' },
  function: { isMet: (value) => typeof value === 'function', expected: 'a function' },
  object: {
    isMet: (value) => typeof value === 'object' && value !== null,
    expected: 'an object',
  },
  texts: { isMet: areTexts, expected: 'a list of texts' },
  files: { isMet: areTexts, expected: 'a list of texts' },
  signal: { isMet: (value) => value instanceof AbortSignal, expected: 'an AbortSignal' },
  control: {
    isMet: (value) => typeof value === 'object' && value !== null && 'whileOpen' in value,
    expected: 'what createRunControl makes',
  },
  list: { isMet: isList, expected: 'a list' },
};

function isList(input: unknown): boolean {
  if (typeof input === 'string') return input !== '';
  return (
    typeof input === 'object' &&
    input !== null &&
    (Symbol.iterator in input || Symbol.asyncIterator in input)
  );
}

/**
 * Refuses an option of the wrong type. Otherwise it would turn up as an internal error in the
 * middle of a run, or be ignored. The message never repeats the value, which may be a credential.
 */
function checkKind(value: unknown, kind: OptionKind = 'checkedElsewhere', label: string): void {
  const { isMet, expected } = KINDS[kind];
  if (isMet(value)) return;
  throw refusal(
    kind === 'list'
      ? `Cannot start without a list: give ${label} the path of a file, '-' for standard input, or rows as objects.`
      : `Cannot use ${label}: expected ${expected}, received ${describeKind(value)}.`,
  );
}

interface Given {
  /** Settings as given, by key; missing ones have their defaults. */
  readonly given: Readonly<Partial<Record<OptionKey, unknown>>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: OptionKey) => string;
}

interface Combination {
  readonly isGiven: (settings: Settings, given: Given['given']) => boolean;
  readonly refusal: (
    describe: Given['describe'],
    settings: Settings,
    given: Given['given'],
  ) => string;
  /**
   * What gives way in a job file, by the option that is typed beside the file. Not in here is what
   * nobody would expect to be left out, such as a limit on calls.
   */
  readonly givesWay?: Partial<Readonly<Record<OptionKey, readonly OptionKey[]>>>;
}

/** Values that make no sense together, though each does alone. */
const COMBINATIONS: readonly Combination[] = [
  {
    isGiven: ({ failures }) => failures === '-',
    refusal: (of) => `Cannot write failures to standard output: give ${of('failures')} a file.`,
  },
  {
    isGiven: ({ changes }) => changes === '-',
    refusal: (of) => `Cannot write changes to standard output: give ${of('changes')} a file.`,
  },
  {
    isGiven: ({ merge, changes }) => merge !== undefined && changes !== undefined,
    refusal: (of) =>
      `Cannot use ${of('changes')} along with ${of('merge')}: the next run of the list tells of what was merged.`,
    givesWay: { merge: ['changes', 'key'] },
  },
  {
    isGiven: ({ merge, noHeader }) => merge !== undefined && noHeader === true,
    refusal: (of) =>
      `Cannot use ${of('noHeader')} along with ${of('merge')}: a failures file has a header; leave it out.`,
    givesWay: { merge: ['noHeader'] },
  },
  {
    isGiven: ({ merge, skipLines = 0 }) => merge !== undefined && skipLines > 0,
    refusal: (of) =>
      `Cannot use ${of('skipLines')} along with ${of('merge')}: a failures file begins with its header; leave it out.`,
    givesWay: { merge: ['skipLines'] },
  },
  {
    isGiven: ({ key, changes }) => key !== undefined && changes === undefined,
    refusal: (of) => `Cannot use ${of('key')} without a changes file: give ${of('changes')} too.`,
  },
  {
    isGiven: ({ logos, logoField }) => (logos === undefined) !== (logoField === undefined),
    refusal: (of, { logos }) =>
      `Cannot use ${of(logos === undefined ? 'logoField' : 'logos')} alone: ${of('logos')} is the folder for logos, ${of('logoField')} says where an answer has the URL of one; give both.`,
  },
  {
    isGiven: ({ workers, queue }) => workers === 0 && queue === undefined,
    refusal: (of) =>
      `Cannot leave all lookups to other workers without a queue: give ${of('queue')}, or set BRANDFILL_QUEUE.`,
  },
  {
    isGiven: ({ workers, maxCallsPer }) => workers === 0 && maxCallsPer !== undefined,
    refusal: (of) =>
      `Cannot hold ${of('maxCallsPer')} where no calls are made: give it to the workers (brandfill worker --max-calls-per), or leave out ${of('workers')} 0.`,
  },
  {
    isGiven: ({ then }, given) => then === undefined && strayOfSecond(given) !== undefined,
    refusal: (of, _, given) =>
      `Cannot use ${of(strayOfSecond(given) ?? 'then')} without a second API: give ${of('then')} too.`,
  },
  {
    isGiven: ({ refresh, onlyMissing }) => refresh === true && onlyMissing === true,
    refusal: (of) =>
      `Cannot use ${of('refresh')} along with ${of('onlyMissing')}: the one asks about every domain again, the other leaves alone what was found; choose one.`,
    givesWay: { refresh: ['onlyMissing'], onlyMissing: ['refresh'] },
  },
  {
    isGiven: ({ fields }, { maxColumns }) => fields !== undefined && maxColumns !== undefined,
    refusal: (of) =>
      `Cannot use ${of('maxColumns')} along with ${of('fields')}: it is for the flattened answer, and ${of('fields')} says what the columns are; leave one out.`,
    givesWay: { fields: ['maxColumns'], maxColumns: ['fields'] },
  },
];

/** @throws BrandfillError `INVALID_SETTING` for the first combination that makes no sense */
export function refuseCombinations(settings: Settings, { given, describe }: Given): void {
  const found = COMBINATIONS.find(({ isGiven }) => isGiven(settings, given));
  if (found) throw new BrandfillError('INVALID_SETTING', found.refusal(describe, settings, given));
}

/** An option of a second API that was given. */
function strayOfSecond(given: Given['given']): OptionKey | undefined {
  return OPTIONS_OF_SECOND.find((key) => given[key] !== undefined);
}

/** Another API is another host, which must not get what the file has for its own. */
const OF_API: readonly OptionKey[] = ['baseUrl', 'auth', 'apiKeyFile', 'params', 'headers'];

const OF_THEN: readonly OptionKey[] = ['thenBaseUrl', 'thenApiKeyFile'];

/** The settings of a job file that make no sense beside what is typed, and give way to it. */
export function overriddenBy(typed: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const pairs: (readonly [string, readonly OptionKey[]])[] = [
    ['api', OF_API],
    ['then', OF_THEN],
    ...COMBINATIONS.flatMap(({ givesWay = {} }) => Object.entries(givesWay)),
  ];
  return new Set(pairs.flatMap(([key, others]) => (isTyped(typed[key]) ? others : [])));
}

function isTyped(value: unknown): boolean {
  return value !== undefined && value !== false;
}
