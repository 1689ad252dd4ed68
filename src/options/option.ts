import { z } from 'zod';
import { BrandfillError } from '../common/errors.ts';
import { describeKind } from '../common/text.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a type of values is beside its schema. */
interface TypeMeta {
  /** Stands for a value in the help; a switch has none. */
  readonly placeholder?: string | undefined;
  /** The shape of a value in JSON and YAML, for editors. @default that of the schema */
  readonly json?: JsonSchema | undefined;
  /** Whether it may be given more than once, and as a list. */
  readonly isRepeatable?: boolean | undefined;
  /** Whether a value, or one of several, is a path. @default none is */
  readonly isPath?: ((value: string) => boolean) | undefined;
  /** Writes a value for people, without secrets. @default as a text */
  readonly show?: ((value: never) => string) | undefined;
}

/** The headings of the help, in its order. */
export const GROUPS = {
  files: 'Files',
  list: 'The list',
  api: 'The API',
  columns: 'Columns',
  calls: 'Calls and what they cost',
  kept: 'Answers that are kept',
  queue: 'Workers on a queue',
  page: 'Page and metrics',
  sandbox: 'The stand-in',
  shown: 'What is shown',
} as const;

/** One option, said once: flag, variable, key of a job file, library, help, schema, docs come from here. */
export interface OptionMeta {
  readonly help: string;
  readonly group: keyof typeof GROUPS;
  /** Its name as a flag and in job files. @default its key */
  readonly name?: string;
  /** Environment variable it is read from when it is not given. */
  readonly env?: string;
  /** As a user would write it. */
  readonly default?: string;
  /** Stands for a value in the help. @default what its type says */
  readonly placeholder?: string | undefined;
  /** Whether `--help` leaves it to `--help all`. */
  readonly isAdvanced?: boolean;
  /** Whether it names a file that a run writes anew. */
  readonly isOutput?: boolean;
}

type Meta = OptionMeta & TypeMeta;

const TYPES = z.registry<TypeMeta>();
const OPTIONS = z.registry<Meta>();

/** Options by their names in the library, in the order of the help. */
export type Options = Readonly<Record<string, z.ZodType>>;

/** The values of options, read and checked; undefined for those without a value or a default. */
export type SettingsOf<D extends Options> = { readonly [K in keyof D]: z.output<D[K]> };

/** Options as programs give them. */
export type OptionsOf<D extends Options> = { readonly [K in keyof D]?: z.input<D[K]> | undefined };

/** Declares an option. */
export function option<T extends z.ZodType>(
  type: T,
  meta: OptionMeta & { readonly default: string },
): z.ZodPrefault<T>;
export function option<T extends z.ZodType>(type: T, meta: OptionMeta): z.ZodOptional<T>;
export function option(type: z.ZodType, meta: OptionMeta): z.ZodType {
  const made = meta.default === undefined ? type.optional() : type.prefault(meta.default);
  OPTIONS.add(made, { ...TYPES.get(type), ...meta });
  return made;
}

/** What is said of an option. */
export function metaOf(declared: z.ZodType): Meta {
  const meta = OPTIONS.get(declared);
  if (meta === undefined) throw new TypeError('this is no option');
  return meta;
}

/** The same option with another default or text. */
export function varied<T extends z.ZodOptional | z.ZodPrefault>(
  declared: T,
  more: Partial<OptionMeta>,
): T {
  return option(declared.unwrap() as z.ZodType, { ...metaOf(declared), ...more }) as z.ZodType as T;
}

/** Some of the options. */
export function pick<D extends Options, K extends keyof D>(
  from: D,
  ...keys: readonly K[]
): Pick<D, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<D, K>;
}

/**
 * Makes a type of values: a shape, and what reads it or throws an error that says what was expected;
 * whoever asks adds the name of the option.
 */
export function type<I, T>(
  shape: z.ZodType<I, I>,
  read: (given: I) => T,
  meta: TypeMeta & { readonly show?: (value: T) => string } = {},
): z.ZodPipe<z.ZodType<I, I>, z.ZodTransform<T, I>> {
  const made = shape.transform((given, context) => {
    try {
      return read(given);
    } catch (error) {
      if (!(error instanceof BrandfillError)) throw error;
      context.addIssue({ code: 'custom', message: error.message, params: { cause: error } });
      return z.NEVER;
    }
  });
  TYPES.add(made, meta);
  return made;
}

/** Text that says what a value should have been; it never repeats what is no plain value. */
export function expected(what: string, received: unknown): string {
  const isShown = ['string', 'number', 'boolean'].includes(typeof received);
  return `expected ${what}, received ${isShown ? `'${String(received)}'` : describeKind(received)}`;
}

export function refusal(message: string, cause?: unknown): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message, cause === undefined ? {} : { cause });
}

/** Reads one value. @throws BrandfillError `INVALID_SETTING` that says what was expected */
export function readValue<T extends z.ZodType>(declared: T, value: unknown): z.output<T> {
  const read = declared.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const cause = issue?.code === 'custom' ? issue.params?.['cause'] : undefined;
  throw refusal(issue?.message ?? '', cause);
}

/** The JSON Schema of what may be given for a type or an option. */
export function jsonSchemaOf(declared: z.ZodType): JsonSchema {
  const {
    $schema: _,
    default: _default,
    ...schema
  } = z.toJSONSchema(declared, {
    io: 'input',
    target: 'draft-7',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      const own = TYPES.get(zodSchema as unknown as z.ZodType)?.json;
      if (own === undefined) return;
      for (const key of Object.keys(jsonSchema)) delete jsonSchema[key as keyof typeof jsonSchema];
      Object.assign(jsonSchema, own);
    },
  });
  return schema;
}

/** The name of an option as a flag and in job files. */
export function nameIn(options: Options, key: string): string {
  const declared = Object.hasOwn(options, key) ? options[key] : undefined;
  return (declared && OPTIONS.get(declared)?.name) ?? key;
}
