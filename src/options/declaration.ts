/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * The kind of values that an option takes: how they are asked for, read, checked by editors, and
 * shown. Each reader takes texts of the command line and values of programs alike, and throws an
 * error that says what was expected; the caller adds the name of the option.
 */
export interface Kind<T, G> {
  /** Stands for a value in the help; a switch has none. */
  readonly placeholder?: string;
  /** The shape of a value in JSON and YAML. */
  readonly schema: JsonSchema;
  /** Whether it is given as a number in JSON and YAML, its default too. */
  readonly isNumber?: boolean;
  /** Whether it may be given more than once, and as a list. */
  readonly isRepeatable?: boolean;
  /** Whether it may be given as a map. */
  readonly isMap?: boolean;
  /** Whether a value, or one of several, is a path. @default none is */
  isPath?(value: string): boolean;
  /** Whether a text that begins with `@` names a file that holds the value. */
  readonly takesPreset?: boolean;
  /** @throws BrandfillError `INVALID_SETTING` that says what was expected */
  parse(value: unknown): T;
  /** Writes a value for people, without secrets. */
  show(value: T): string;
  /** Never there: it carries the type of what programs give. */
  readonly given?: G;
}

/**
 * One option, said once: flag, environment variable, key of a job file, library, help, schema and
 * docs all come from here. Its key is its name in the library.
 */
export interface Declaration<T = unknown, G = unknown> {
  readonly kind: Kind<T, G>;
  /** Its name as a flag and in job files. @default its key */
  readonly name?: string;
  /** Environment variable it is read from when it is not given. */
  readonly env?: string;
  /** As a user would write it. */
  readonly default?: string;
  /** The default when a job file says how to run, if it is a different one. */
  readonly defaultInJobFile?: string;
  /** Whether it names a file that a run writes anew. */
  readonly isOutput?: boolean;
  readonly description: string;
}

/** Options by their names in the library, in the order of the help. */
export type Declarations = Readonly<Record<string, Declaration>>;

/** The values of options, read and checked; undefined for those without a value or a default. */
export type SettingsOf<D extends Declarations> = {
  readonly [K in keyof D]: D[K] extends { readonly default: string }
    ? ReturnType<D[K]['kind']['parse']>
    : ReturnType<D[K]['kind']['parse']> | undefined;
};

/** Options as programs give them. */
export type OptionsOf<D extends Declarations> = {
  readonly [K in keyof D]?: NonNullable<D[K]['kind']['given']> | undefined;
};

/** Some of the options. */
export function pick<D extends Declarations, K extends keyof D>(
  from: D,
  ...keys: readonly K[]
): Pick<D, K> {
  return Object.fromEntries(keys.map((key) => [key, from[key]])) as Pick<D, K>;
}

/** The names of options. */
export function keysOf<D extends Declarations>(declared: D): readonly (keyof D & string)[] {
  return Object.keys(declared);
}
