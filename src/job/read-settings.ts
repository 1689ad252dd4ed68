import { BrandfillError, endSentence } from '../common/errors.ts';
import type { Definitions, SettingDefinition } from './setting-definition.ts';

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
