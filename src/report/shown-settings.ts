import { type Declaration, flagOf, OPTIONS, type Settings } from '../options/options.ts';
import { shortenTo } from './text.ts';

/** A setting of a run, for people. */
export interface ShownSetting {
  /** As on the command line. */
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

const VALUE_LENGTH = 500;

/**
 * The settings of a run without secrets: parameters and headers by name only, URLs without a login.
 */
export function showSettings(settings: Settings): readonly ShownSetting[] {
  return Object.entries<Declaration>(OPTIONS).flatMap(([key, { kind, default: standard }]) => {
    const given: unknown = settings[key as keyof Settings];
    if (given === undefined) return [];
    const value = kind.show(given);
    const isDefault = standard !== undefined && kind.show(kind.parse(standard)) === value;
    return [{ name: flagOf(key), value: shortenTo(value, VALUE_LENGTH), isDefault }];
  });
}
