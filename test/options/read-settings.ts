import { expect } from 'vitest';
import { flagOf, OPTIONS, type OptionKey, type Settings } from '../../src/options/options.ts';
import { readSettings } from '../../src/options/read-options.ts';

/** Reads settings as `enrich` does. */
export function read(
  given: Partial<Record<OptionKey, unknown>>,
  env: Record<string, string> = {},
): Settings {
  return readSettings(OPTIONS, { given, env, describe: flagOf });
}

/** The message of the error that a value leads to. */
export function refusalOf(
  given: Partial<Record<OptionKey, unknown>>,
  env?: Record<string, string>,
): string {
  try {
    read(given, env);
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return (error as Error).message;
  }
  return 'nothing was refused';
}
