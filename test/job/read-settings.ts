import { expect } from 'vitest';
import { flagOf, readSettings } from '../../src/job/read-settings.ts';
import { SETTINGS, type SettingKey, type Settings } from '../../src/job/settings.ts';

/** Reads settings as `enrich` does. */
export function read(
  given: Partial<Record<SettingKey, unknown>>,
  env: Record<string, string> = {},
): Settings {
  return readSettings(SETTINGS, { given, env, describe: flagOf });
}

/** The message of the error that a value leads to. */
export function refusalOf(
  given: Partial<Record<SettingKey, unknown>>,
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
