import { z } from 'zod';
import { BrandfillError, endSentence } from '../common/errors.ts';
import { describeKind, findNearest } from '../common/text.ts';
import { shorten } from '../rows/columns/names.ts';
import { metaOf, type Options, readValue, refusal, type SettingsOf } from './option.ts';
import type { OptionKey, Settings } from './options.ts';

/** The options that a function of the library takes. */
export interface KnownOptions<D extends Options> {
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
export function readOptions<D extends Options>(
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
export function readSettings<D extends Options>(
  declared: D,
  { given, env, describe }: SettingSources,
): SettingsOf<D> {
  const read = Object.entries(declared).map(([key, schema]) => {
    const { env: variable } = metaOf(schema);
    const fromEnv = variable === undefined ? undefined : env[variable] || undefined;
    const label = given[key] === undefined && fromEnv !== undefined ? variable : describe(key);
    try {
      return [key, readValue(schema, given[key] ?? fromEnv)];
    } catch (error) {
      if (!(error instanceof BrandfillError)) throw error;
      throw refusal(endSentence(`Cannot use ${label}: ${error.message}`), error);
    }
  });
  return Object.fromEntries(read) as SettingsOf<D>;
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
export function checkOptions(options: unknown, known: KnownOptions<Options>): void {
  const { of, declared, others, pointless, describe } = known;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const received = describeKind(options);
    throw refusal(`Cannot run ${of}: expected its options as an object, received ${received}.`);
  }
  const isPointless = (key: string): boolean => pointless?.keys.includes(key) ?? false;
  const names = [...Object.keys(declared), ...Object.keys(others)];
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (pointless && isPointless(key)) {
      throw refusal(`Cannot use ${describe(key)} with ${of}: ${pointless.why}; leave it out.`);
    }
    if (names.includes(key)) continue;
    const rest = names.filter((name) => !isPointless(name));
    const meant = findNearest(key, rest);
    const all =
      rest.length > MOST_LISTED
        ? 'they are listed in docs/options.md.'
        : `there are: ${rest.join(', ')}.`;
    const hint = meant === undefined ? all : `did you mean ${describe(meant)}?`;
    // As it was given: what it is called otherwise may be the very name that was meant.
    throw refusal(`Cannot use '${shorten(key)}': ${of} has no such option; ${hint}`);
  }
  const given: Readonly<Record<string, unknown>> = { ...options };
  for (const [key, kind] of Object.entries(others)) {
    const read = KINDS[kind].safeParse(given[key]);
    if (read.success) continue;
    // The value is never repeated: it may be a credential.
    throw refusal(
      kind === 'list'
        ? `Cannot start without a list: give ${describe(key)} the path of a file, '-' for standard input, or rows as objects.`
        : `Cannot use ${describe(key)}: ${read.error.issues[0]?.message}.`,
    );
  }
}

const say = (what: string) => ({
  error: ({ input }: { readonly input?: unknown }) =>
    `expected ${what}, received ${describeKind(input)}`,
});
const texts = z.custom(
  (value) => Array.isArray(value) && value.every((one) => typeof one === 'string'),
  say('a list of texts'),
);
const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** The kinds of options that have no flag: their names for functions of the library. */
const KINDS = {
  checkedElsewhere: z.unknown(),
  text: z.string(say('a text')).optional(),
  flag: z.boolean(say('true or false')).optional(),
  function: z.custom((value) => typeof value === 'function', say('a function')).optional(),
  object: z.custom(isObject, say('an object')).optional(),
  signal: z.instanceof(AbortSignal, say('an AbortSignal')).optional(),
  control: z
    .custom((value) => isObject(value) && 'whileOpen' in value, say('what createRunControl makes'))
    .optional(),
  texts: texts.optional(),
  // These three must be given.
  file: z.string(say('a text')),
  files: texts,
  list: z.custom((value) =>
    typeof value === 'string'
      ? value !== ''
      : isObject(value) && (Symbol.iterator in value || Symbol.asyncIterator in value),
  ),
} as const;

/** The kind of value that an option has which has no flag. */
export type OptionKind = keyof typeof KINDS;

interface Given {
  /** Settings as given, by key; missing ones have their defaults. */
  readonly given: Readonly<Partial<Record<OptionKey, unknown>>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: OptionKey) => string;
}

/** Values that make no sense together, though each does alone, and what is said then. */
const COMBINATIONS: readonly (readonly [
  isGiven: (settings: Settings, given: Given['given']) => boolean,
  refusal: (of: Given['describe'], settings: Settings) => string,
])[] = [
  [
    ({ failures }) => failures === '-',
    (of) => `Cannot write failures to standard output: give ${of('failures')} a file.`,
  ],
  [
    ({ changes }) => changes === '-',
    (of) => `Cannot write changes to standard output: give ${of('changes')} a file.`,
  ],
  [
    ({ key, changes }) => key !== undefined && changes === undefined,
    (of) => `Cannot use ${of('key')} without a changes file: give ${of('changes')} too.`,
  ],
  [
    ({ logos, logoField }) => (logos === undefined) !== (logoField === undefined),
    (of, { logos }) =>
      `Cannot use ${of(logos === undefined ? 'logoField' : 'logos')} alone: ${of('logos')} is the folder for logos, ${of('logoField')} says where an answer has the URL of one; give both.`,
  ],
  [
    ({ workers, queue }) => workers === 0 && queue === undefined,
    (of) =>
      `Cannot leave all lookups to other workers without a queue: give ${of('queue')}, or set BRANDFILL_QUEUE.`,
  ],
  [
    ({ workers, maxCallsPer }) => workers === 0 && maxCallsPer !== undefined,
    (of) =>
      `Cannot hold ${of('maxCallsPer')} where no calls are made: give it to the workers (brandfill worker --max-calls-per), or leave out ${of('workers')} 0.`,
  ],
];

/** @throws BrandfillError `INVALID_SETTING` for the first combination that makes no sense */
export function refuseCombinations(settings: Settings, { given, describe }: Given): void {
  const found = COMBINATIONS.find(([isGiven]) => isGiven(settings, given));
  if (found) throw refusal(found[1](describe, settings));
}

/** What of a job file gives way to an option that is typed beside it. */
const GIVES_WAY: Partial<Readonly<Record<string, readonly OptionKey[]>>> = {
  // Another API is another host, which must not get what the file has for its own.
  api: ['baseUrl', 'auth', 'apiKeyFile', 'params', 'headers'],
};

/** The settings of a job file that make no sense beside what is typed, and give way to it. */
export function overriddenBy(typed: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const keys = Object.keys(typed).filter((key) => typed[key] !== undefined && typed[key] !== false);
  return new Set(keys.flatMap((key) => GIVES_WAY[key] ?? []));
}
