import { z } from 'zod';
import { ExpressionError } from '../collector/fields/expression.ts';
import { BrandfillError, endSentence, refusal } from '../common/errors.ts';
import { describeKind, findNearest, shortenTo } from '../common/text.ts';

// An option is one zod type with what is said of it. Flags, variables, keys of job files, the
// library, help, the JSON Schema of job files and docs/options.md come from there.

/** What is said of a kind of values, and of an option of that kind. */
interface Meta {
  /** Stands for a value in the help; a switch has none. */
  readonly placeholder?: string;
  /** Whether it may be given more than once, and as a list. */
  readonly isRepeatable?: boolean;
  /** Whether a value, or one of several, is a path. @default none is */
  readonly isPath?: (value: string) => boolean;
  readonly help?: string;
  /** Its heading in the help. */
  readonly group?: string;
  /** Its name as a flag. @default its key, with dashes */
  readonly flag?: string;
  /** Environment variable it is read from when it is not given. */
  readonly env?: string | undefined;
  /** Whether the command does not run without it. */
  readonly isRequired?: boolean;
  /** As a user would write it. */
  readonly default?: string;
}

const META = z.registry<Meta>();

/** Options by their names, in the order of the help. */
export type Options = Readonly<Record<string, z.ZodType>>;

/** The values of options, read and checked; undefined for those without a value or a default. */
export type SettingsOf<D extends Options> = { readonly [K in keyof D]: z.output<D[K]> };

/** Options as programs give them. */
export type OptionsOf<D extends Options> = z.input<z.ZodObject<D>>;

/**
 * Makes a kind of values: a shape, and what reads it or throws an error that says what was
 * expected; whoever asks adds the name of the option.
 */
export function kind<I, T>(
  shape: z.ZodType<I, I>,
  read: (given: I) => T,
  meta: Meta = {},
): z.ZodPipe<z.ZodType<I, I>, z.ZodTransform<T, I>> {
  const made = shape.transform((given, context) => {
    try {
      return read(given);
    } catch (error) {
      const isExpected = error instanceof BrandfillError || error instanceof ExpressionError;
      if (!isExpected) throw error;
      context.addIssue({ code: 'custom', message: error.message });
      return z.NEVER;
    }
  });
  META.add(made, meta);
  return made;
}

/** Declares an option. */
export function option<T extends z.ZodType>(
  kind: T,
  meta: Meta & { readonly default: string },
): z.ZodPrefault<T>;
export function option<T extends z.ZodType>(kind: T, meta: Meta): z.ZodOptional<T>;
export function option(kind: z.ZodType, meta: Meta): z.ZodType {
  const made = meta.default === undefined ? kind.optional() : kind.prefault(meta.default);
  META.add(made, { ...META.get(kind), ...meta });
  return made;
}

/** Options under one heading of the help. */
export function under<D extends Options>(group: string, options: D): D {
  for (const one of Object.values(options)) META.add(one, { ...META.get(one), group });
  return options;
}

/** The same option with another default or text. */
export function varied<T extends z.ZodOptional | z.ZodPrefault>(declared: T, more: Meta): T {
  return option(declared.unwrap() as z.ZodType, { ...metaOf(declared), ...more }) as z.ZodType as T;
}

/** The same option, without which a command does not run. */
export function required<T extends z.ZodType>(declared: z.ZodOptional<T>): T {
  const made = declared.unwrap().clone();
  META.add(made, { ...metaOf(declared), isRequired: true });
  return made;
}

/** Some of the options. */
export function pick<D extends Options, K extends keyof D>(
  from: D,
  ...keys: readonly K[]
): Pick<D, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<D, K>;
}

/** What is said of an option. */
export function metaOf(declared: z.ZodType): Meta {
  return META.get(declared) ?? {};
}

/** Text that says what a value should have been; it never repeats what is no plain value. */
export function expected(what: string, received: unknown): string {
  const isShown = ['string', 'number', 'boolean'].includes(typeof received);
  return `expected ${what}, received ${isShown ? `'${String(received)}'` : describeKind(received)}`;
}

/** Puts what cannot be done in front of what a reader says is wrong. */
export function refusing<T>(start: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const message = endSentence(`${start} ${error.message}`);
    throw refusal(message, error);
  }
}

/** The sources of settings. */
export interface Sources {
  /** By key: texts as on the command line, or values as programs give them. */
  readonly given: unknown;
  /** What counts where nothing was given, before the environment. @default nothing */
  readonly ofProfile?: Readonly<Record<string, unknown>> | undefined;
  /** @default that of the process */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/**
 * A message, which says `option 'baseUrl'`, with what that is called where it is read, such as
 * `--base-url` at a terminal. Programs, which have the keys, read it as it is.
 */
export function nameOptions(message: string, nameOf: (key: string) => string): string {
  return message.replaceAll(/\boption '(\w+)'/g, (_, key: string) => nameOf(key));
}

/**
 * Reads the options of a command or a function of the library: what was given, else the
 * environment, else the defaults. An option that it does not have is refused: a bound that does not
 * hold costs money.
 *
 * @param of the name of the command or function
 * @throws BrandfillError `INVALID_SETTING` that names the option, what was expected and what came
 */
export function readOptions<D extends Options>(
  of: string,
  declared: D,
  { given, ofProfile = {}, env = process.env }: Sources,
): SettingsOf<D> {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw refusal(
      `Cannot run ${of}: expected its options as an object, received ${describeKind(given)}.`,
    );
  }
  const present = Object.entries(given).filter(([, value]) => value !== undefined);
  const values: Record<string, unknown> = Object.fromEntries(present);
  const variables = new Map<string, string>();
  for (const [key, one] of Object.entries(declared)) {
    const { env: variable = '' } = metaOf(one);
    if (values[key] === undefined && ofProfile[key] !== undefined) values[key] = ofProfile[key];
    if (values[key] !== undefined || !env[variable]) continue;
    values[key] = env[variable];
    variables.set(key, variable);
  }
  const read = z.strictObject(declared).safeParse(values);
  if (read.success) return read.data as SettingsOf<D>;
  const { issues } = read.error;
  const unknown = issues.find(({ code }) => code === 'unrecognized_keys');
  if (unknown?.code === 'unrecognized_keys') {
    const [key = ''] = unknown.keys;
    const meant = findNearest(key, Object.keys(declared));
    const hint = meant === undefined ? 'see docs/options.md' : `did you mean option '${meant}'?`;
    // As it was given: what it is called otherwise may be the very name that was meant.
    throw refusal(
      endSentence(`Cannot use '${shortenTo(key, 40)}': ${of} has no such option; ${hint}`),
    );
  }
  const [issue] = issues;
  const key = String(issue?.path[0]);
  const { env: variable, isRequired } = metaOf(declared[key] ?? z.never());
  if (isRequired && values[key] === undefined) {
    const other = variable === undefined ? '' : `, or set ${variable}`;
    throw refusal(`Cannot run ${of} without option '${key}': give it${other}.`);
  }
  const label = variables.get(key) ?? `option '${key}'`;
  throw refusal(endSentence(`Cannot use ${label}: ${issue?.message}`));
}
