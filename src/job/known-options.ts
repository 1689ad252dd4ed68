import { describeKind } from '../common/describe-kind.ts';
import { BrandfillError } from '../common/errors.ts';
import { shorten } from '../rows/columns/names.ts';
import { findNearest } from './nearest.ts';
import { checkKind, type OptionKind } from './option-kinds.ts';
import type { Definitions } from './setting-definition.ts';

/** The options that a function of the library takes. */
export interface KnownOptions {
  /** The name of the function. */
  readonly of: string;
  /** Settings that are options by the same name, except `params` and `headers`. */
  readonly definitions?: Definitions<object>;
  /** Options that are not settings, with their kinds. */
  readonly others: Readonly<Record<string, OptionKind>>;
  /** Settings that make no sense for this function, and why. */
  readonly pointless?: { readonly keys: readonly string[]; readonly why: string };
  /** Gives the name of an option in messages. */
  readonly describe: (key: string) => string;
}

/** A message lists at most this many options; if there are more, it names the README. */
const MOST_LISTED = 25;

/**
 * Refuses options that a function does not have: a mistyped option would be ignored, and a bound
 * that does not hold costs money. Options that are undefined count as not given. Options that are
 * not settings are also refused when they have the wrong type; settings are checked when they are
 * read.
 *
 * @throws BrandfillError `INVALID_SETTING` that names the option and the one that was probably
 * meant
 */
export function checkOptions(options: unknown, known: KnownOptions): void {
  const { of, others, pointless, describe } = known;
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw refusal(
      `Cannot run ${of}: expected its options as an object, received ${describeKind(options)}.`,
    );
  }
  const names = namesOf(known);
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    if (pointless?.keys.includes(key)) {
      throw refusal(`Cannot use ${describe(key)} with ${of}: ${pointless.why}; leave it out.`);
    }
    if (!names.includes(key)) throw refusal(describeUnknown(key, names, known));
    checkKind(value, others[key] ?? 'checkedElsewhere', describe(key));
  }
}

/** @throws BrandfillError `INVALID_SETTING` when a program gives no list */
export function checkInput(input: unknown, describe: (key: string) => string): void {
  if (typeof input === 'string' && input !== '') return;
  if (typeof input === 'object' && input !== null) {
    if (Symbol.iterator in input || Symbol.asyncIterator in input) return;
  }
  throw refusal(
    `Cannot start without a list: give ${describe('input')} the path of a file, '-' for standard input, or rows as objects.`,
  );
}

function namesOf({ definitions = {}, others, pointless }: KnownOptions): readonly string[] {
  return [...Object.keys(definitions), ...Object.keys(others)].filter(
    (key) => key !== 'param' && key !== 'header' && !pointless?.keys.includes(key),
  );
}

function describeUnknown(
  key: string,
  names: readonly string[],
  { of, describe }: KnownOptions,
): string {
  const meant = findNearest(key, names);
  const all =
    names.length > MOST_LISTED
      ? 'they are listed in the README.'
      : `there are: ${names.join(', ')}.`;
  const hint = meant === undefined ? all : `did you mean ${describe(meant)}?`;
  // As it was given: what it is called otherwise may be the very name that was meant.
  return `Cannot use '${shorten(key)}': ${of} has no such option; ${hint}`;
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}
