import { expect } from 'vitest';
import { readOptions } from '../../src/options/option.ts';
import { inFlags, OPTIONS, type OptionKey, type Settings } from '../../src/options/options.ts';

type Given = Partial<Record<OptionKey, unknown>>;

/** Reads settings as `enrich` does. */
export function read(given: Given, env: Record<string, string> = {}): Settings {
  return readOptions('enrich', OPTIONS, { given, env });
}

/** The message of the error that a value leads to. */
export function refusalOf(given: Given, env?: Record<string, string>): string {
  try {
    read(given, env);
  } catch (error) {
    expect(error).toMatchObject({ name: 'BrandfillError', code: 'INVALID_SETTING' });
    return inFlags((error as Error).message);
  }
  return 'nothing was refused';
}
