import { type Command, Option } from 'commander';
import { BrandfillError } from '../common/errors.ts';
import { type Declaration, type Declarations, flagOf } from '../options/options.ts';

/** Gives a command an option for each of some settings. */
export function addSettings(command: Command, declared: Declarations): void {
  for (const [key, option] of Object.entries(declared)) command.addOption(optionOf(key, option));
  if ('apiKeyFile' in declared) command.addOption(credentialOption());
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

/** The name of a setting in messages of commands where the list is an argument. */
export function flagOrArgument(key: string): string {
  return key === 'input' ? '<input>' : flagOf(key);
}

function optionOf(key: string, { kind, description, default: standard, env }: Declaration): Option {
  const value = kind.placeholder === undefined ? '' : ` <${kind.placeholder}>`;
  const option = new Option(`${flagOf(key)}${value}`, description);
  // `--no-header` is a switch of that name, not the opposite of `--header`.
  option.negate = false;
  // Commander's own defaults are not used: they would hide whether an option was given.
  const notes = [
    standard === undefined ? undefined : `default: ${standard}`,
    env === undefined ? undefined : `env: ${env}`,
    kind.isRepeatable ? 'repeatable' : undefined,
  ].filter((note) => note !== undefined);
  if (notes.length > 0) option.description += ` (${notes.join(', ')})`;
  if (kind.isRepeatable) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [
      ...(earlier ?? []),
      text,
    ]);
  }
  return option;
}
