import { type Command, Option } from 'commander';
import { refusal } from '../common/errors.ts';
import { metaOf, type Options } from '../options/option.ts';
import { FIRST, flagOf } from '../options/options.ts';

/** A longer help is cut to what most people need; `--help all` has the rest. */
const MOST_SHOWN = 30;

/**
 * Gives a command its options.
 *
 * @param args the command line, which may ask for the help
 */
export function addOptions(command: Command, options: Options, args: readonly string[] = []): void {
  const isLong = Object.keys(options).length > MOST_SHOWN;
  if (isLong)
    command.helpOption('-h, --help [all]', 'display help; with all, every other option too');
  // Only in the help: what is suggested for a flag with a mistake in it is one of the visible ones.
  const isCut = isLong && args.some((arg) => /^(-h|--help)$/.test(arg)) && !args.includes('all');
  for (const [key, one] of Object.entries(options)) {
    command.addOption(optionOf(key, metaOf(one)).hideHelp(isCut && !FIRST.has(key)));
  }
  if ('apiKeyFile' in options) command.addOption(credentialOption());
}

/**
 * An option that many other tools have and somebody may try. It is hidden, and refused with a
 * pointer to the right ones.
 */
function credentialOption(): Option {
  const refuse = (): never => {
    throw refusal(
      'Cannot take a credential on the command line, where others on this machine can see it: set BRANDFILL_API_KEY, or give --api-key-file FILE.',
    );
  };
  return new Option('--api-key [KEY]').hideHelp().preset('').argParser(refuse);
}

function optionOf(key: string, meta: ReturnType<typeof metaOf>): Option {
  const { placeholder, help, default: standard, env, isRepeatable, group } = meta;
  const notes = [standard && `default: ${standard}`, env && `env: ${env}`];
  if (isRepeatable) notes.push('repeatable');
  const shown = notes.filter(Boolean).join(', ');
  const option = new Option(
    `${flagOf(key)}${placeholder === undefined ? '' : ` <${placeholder}>`}`,
    shown === '' ? help : `${help} (${shown})`,
  );
  // `--no-header` is a switch of that name, not the opposite of `--header`.
  option.negate = false;
  option.attributeName = () => key;
  option.helpGroup(`${group}:`);
  // Commander's own defaults are not used: they would hide whether an option was given.
  if (isRepeatable) {
    option.argParser((text: string, earlier?: readonly string[]) => [...(earlier ?? []), text]);
  }
  return option;
}
