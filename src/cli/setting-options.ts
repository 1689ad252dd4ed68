import { type Command, Option } from 'commander';
import { flagOf } from '../job/read-settings.ts';
import { type Definitions, type SettingDefinition } from '../job/setting-definition.ts';

/** Gives a command an option for each of some settings. */
export function addSettings<T extends object>(command: Command, definitions: Definitions<T>): void {
  for (const [key, definition] of Object.entries<SettingDefinition<unknown>>(definitions)) {
    command.addOption(optionOf(key, definition));
  }
}

/** The library's options for what was typed. Values stay texts; the library reads and checks them. */
export function toOptions(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { param, header, ...others } = given;
  return {
    ...others,
    ...(param === undefined ? {} : { params: param }),
    ...(header === undefined ? {} : { headers: header }),
  };
}

function optionOf(key: string, definition: SettingDefinition<unknown>): Option {
  const value = definition.value === undefined ? '' : ` <${definition.value}>`;
  const option = new Option(`${flagOf(key)}${value}`, definition.description);
  // A switch of that name, not the opposite of another one.
  option.negate = false;
  // Not commander's own defaults: those would hide whether an option was given.
  const notes = [
    definition.default === undefined ? undefined : `default: ${definition.default}`,
    definition.env === undefined ? undefined : `env: ${definition.env}`,
    definition.isRepeatable ? 'repeatable' : undefined,
  ].filter((note) => note !== undefined);
  if (notes.length > 0) option.description += ` (${notes.join(', ')})`;
  if (definition.isRepeatable) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [
      ...(earlier ?? []),
      text,
    ]);
  }
  return option;
}
