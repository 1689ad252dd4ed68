import { type Command, Help, Option } from 'commander';
import { metaOf, type Options, refusal } from '../options/option.ts';
import { FIRST, flagOf } from '../options/options.ts';

/** Gives a command its options. */
export function addOptions(command: Command, options: Options): void {
  const advanced = new Set<Option>();
  for (const [key, one] of Object.entries(options)) {
    const option = optionOf(key, metaOf(one));
    command.addOption(option);
    if (!FIRST.has(key)) advanced.add(option);
  }
  if ('apiKeyFile' in options) command.addOption(credentialOption());
  if (Object.keys(options).length > MOST_SHOWN) hideUnlessAsked(command, advanced);
}

/** A longer help is cut to what most people need; `--help all` has the rest. */
const MOST_SHOWN = 30;

function hideUnlessAsked(command: Command, advanced: ReadonlySet<Option>): void {
  const isAll = (): boolean => {
    let root = command;
    while (root.parent) root = root.parent;
    return (root as { rawArgs?: readonly string[] }).rawArgs?.includes('all') ?? false;
  };
  command.helpOption('-h, --help [all]', 'display help; with all, every other option too');
  command.configureHelp({
    // Only here: what is suggested for a flag with a mistake in it comes from all visible options.
    formatHelp(shown, help) {
      const options = help.visibleOptions(shown).filter((one) => isAll() || !advanced.has(one));
      help.visibleOptions = () => options;
      return Help.prototype.formatHelp.call(help, shown, help);
    },
  });
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
  const value = placeholder === undefined ? '' : ` <${placeholder}>`;
  const option = new Option(`${flagOf(key)}${value}`, help);
  // `--no-header` is a switch of that name, not the opposite of `--header`.
  option.negate = false;
  option.attributeName = () => key;
  option.helpGroup(`${group}:`);
  // Commander's own defaults are not used: they would hide whether an option was given.
  const notes = [
    standard === undefined ? undefined : `default: ${standard}`,
    env === undefined ? undefined : `env: ${env}`,
    isRepeatable ? 'repeatable' : undefined,
  ].filter((note) => note !== undefined);
  if (notes.length > 0) option.description += ` (${notes.join(', ')})`;
  if (isRepeatable) {
    option.argParser((text: string, earlier: readonly string[] | undefined) => [
      ...(earlier ?? []),
      text,
    ]);
  }
  return option;
}
