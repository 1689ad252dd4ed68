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
  /** The default where a job file says how to run, if that is another one. */
  readonly defaultInJobFile?: string;
  /** May be given more than once. */
  readonly isRepeatable?: boolean;
  /** A text that begins with `@` names a file that holds the value. */
  readonly takesPreset?: boolean;
  /** Of a whole number: the least and the most that it may be. */
  readonly range?: { readonly from: number; readonly to?: number };
  readonly description: string;
  /** @throws BrandfillError `INVALID_SETTING` that says what was expected */
  parse(value: unknown): T;
}

/** How each of some settings is read. */
export type Definitions<T> = { readonly [K in keyof T]-?: SettingDefinition<T[K]> };
