import { BrandfillError, endSentence } from '../common/errors.ts';

/**
 * Reads settings from what was given, else from the environment, else from the defaults.
 *
 * @param definitions the settings to read
 * @param sources values by key: strings as on the command line, or numbers, lists and booleans; and
 * the name of a key in messages, such as `--base-url`
 * @throws BrandfillError `INVALID_SETTING` that names the setting, what was expected and what came
 */
export function readSettings<T extends object>(
  definitions: Definitions<T>,
  { given, env, describe }: SettingSources<keyof T & string>,
): T {
  const read = Object.entries<SettingDefinition<unknown>>(definitions).map(([name, definition]) => {
    const key = name as keyof T & string;
    const fromEnv = definition.env === undefined ? undefined : env[definition.env] || undefined;
    const value = given[key] ?? fromEnv ?? definition.default;
    const label =
      given[key] === undefined && fromEnv !== undefined ? definition.env : describe(key);
    return [key, value === undefined ? undefined : parse(definition, value, label ?? key)];
  });
  return Object.fromEntries(read) as T;
}

/** The sources of settings. */
export interface SettingSources<K extends string> {
  readonly given: Readonly<Partial<Record<K, unknown>>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly describe: (key: K) => string;
}

/** `baseUrl` as a flag of the command line: `--base-url`. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function parse(definition: SettingDefinition<unknown>, value: unknown, label: string): unknown {
  try {
    return definition.parse(value);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    throw new BrandfillError(
      'INVALID_SETTING',
      endSentence(`Cannot use ${label}: ${error.message}`),
      {
        cause: error,
      },
    );
  }
}

/** Settings that have another name in programs. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = {
  param: 'params',
  header: 'headers',
};

/** The name of an option in messages to programs. The command line uses `--base-url`. */
export const libraryNaming = (key: string): string => `'${LIBRARY_NAMES[key] ?? key}'`;

/**
 * One setting: its name, how it is read, its default. Command line, environment, library, help and
 * docs all come from here.
 */
export interface SettingDefinition<T> {
  /** Placeholder of its value in the help; none for a switch. */
  readonly value?: string;
  /** Environment variable it is read from when the command line does not give it. */
  readonly env?: string;
  /** As a user would write it. */
  readonly default?: string;
  /** The default when a job file says how to run, if it is a different one. */
  readonly defaultInJobFile?: string;
  /** Whether it may be given more than once. */
  readonly isRepeatable?: boolean;
  /** Whether a text that begins with `@` names a file that holds the value. */
  readonly takesPreset?: boolean;
  /** Least and greatest value of a whole number. */
  readonly range?: { readonly from: number; readonly to?: number };
  readonly description: string;
  /** @throws BrandfillError `INVALID_SETTING` that says what was expected */
  parse(value: unknown): T;
}

/** Says how each of some settings is read. */
export type Definitions<T> = { readonly [K in keyof T]-?: SettingDefinition<T[K]> };
