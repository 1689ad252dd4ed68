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
