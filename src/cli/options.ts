import { type Command, Help, Option } from 'commander';
import { BrandfillError } from '../common/errors.ts';
import * as declared from '../options/command-options.ts';
import { metaOf, type Options, readOptions, type SettingsOf } from '../options/option.ts';
import { FIRST, flagOf } from '../options/options.ts';
import type { Command as Declared, Typed } from './commands.ts';

type OfCommand = Pick<Declared, 'name' | 'options' | 'flags'>;

const BY_NAME = { ...declared };
const optionsOf = ({ options = 'NO_FLAGS' }: OfCommand): Options => BY_NAME[options];
const flagsOf = ({ flags = 'NO_FLAGS' }: OfCommand): Options => BY_NAME[flags];

/** What was typed: options for the library, and those of the command line, read and checked. */
export function readTyped<F extends Options>(
  command: OfCommand,
  typed: Typed,
): { readonly options: Record<string, unknown>; readonly flags: SettingsOf<F> } {
  const flags = flagsOf(command) as F;
  const given = Object.entries(typed);
  const some = (isFlag: boolean): Record<string, unknown> =>
    Object.fromEntries(given.filter(([name]) => Object.hasOwn(flags, name) === isFlag));
  return {
    options: some(false),
    flags: readOptions(command.name, flags, { given: some(true), describe: flagOf }),
  };
}

/** Gives a command its options. */
export function addOptions(command: Command, of: OfCommand): void {
  const options = optionsOf(of);
  const all = Object.entries({ ...options, ...flagsOf(of) }).map(([key, one]) => {
    const meta = metaOf(one);
    const option = optionOf(key, meta);
    command.addOption(option);
    return { option, isAdvanced: !FIRST.has(key) };
  });
  if ('apiKeyFile' in options) command.addOption(credentialOption());
  if (all.length > MOST_SHOWN) {
    const advanced = all.filter(({ isAdvanced }) => isAdvanced);
    hideUnlessAsked(command, new Set(advanced.map(({ option }) => option)));
  }
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
    visibleOptions(shown) {
      const options = Help.prototype.visibleOptions.call(this, shown);
      return isAll() ? options : options.filter((option) => !advanced.has(option));
    },
  });
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
