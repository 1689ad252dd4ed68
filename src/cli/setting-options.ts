import { type Command, Option } from 'commander';
import { BrandfillError } from '../common/errors.ts';
import { type Definitions, flagOf, type SettingDefinition } from '../job/read-settings.ts';

/** Gives a command an option for each of some settings. */
export function addSettings<T extends object>(command: Command, definitions: Definitions<T>): void {
  for (const [key, definition] of Object.entries<SettingDefinition<unknown>>(definitions)) {
    command.addOption(optionOf(key, definition));
  }
  if ('apiKeyFile' in definitions) command.addOption(credentialOption());
}

/**
 * An option that many other tools have and somebody may try. It is hidden, and refused with a
 * pointer to the right ones.
 */
function credentialOption(): Option {
  const refuse = (): never => {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot take a credential on the command line, where others on this machine can see it: set BRANDFILL_API_KEY, or give --api-key-file FILE.',
    );
  };
  return new Option('--api-key [KEY]').hideHelp().preset('').argParser(refuse);
}

/**
 * The library's options for the flags that were typed. Values stay texts; the library parses and
 * checks them.
 */
export function toOptions(given: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { param, header, ...others } = given;
  return {
    ...others,
    ...(param === undefined ? {} : { params: param }),
    ...(header === undefined ? {} : { headers: header }),
  };
}

/** The name of a setting in messages of commands where the list is an argument. */
export function flagOrArgument(key: string): string {
  return key === 'input' ? '<input>' : flagOf(key);
}

function optionOf(key: string, definition: SettingDefinition<unknown>): Option {
  const value = definition.value === undefined ? '' : ` <${definition.value}>`;
  const option = new Option(`${flagOf(key)}${value}`, definition.description);
  // `--no-header` is a switch of that name, not the opposite of `--header`.
  option.negate = false;
  // Commander's own defaults are not used: they would hide whether an option was given.
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
