import { BrandfillError } from '../common/errors.ts';
import type { SettingKey, Settings } from './settings.ts';

interface Given {
  /** Settings as given, by key; missing ones have their defaults. */
  readonly given: Readonly<Partial<Record<SettingKey, unknown>>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: SettingKey) => string;
}

interface Combination {
  readonly isGiven: (settings: Settings, given: Given['given']) => boolean;
  readonly refusal: (describe: Given['describe'], settings: Settings) => string;
  /**
   * What gives way in a job file, by the option that is typed beside the file. Not in here is what
   * nobody would expect to be left out, such as a limit on calls.
   */
  readonly givesWay?: Partial<Readonly<Record<SettingKey, readonly SettingKey[]>>>;
}

/** Values that make no sense together, though each does alone. */
const COMBINATIONS: readonly Combination[] = [
  {
    isGiven: ({ failures }) => failures === '-',
    refusal: (of) => `Cannot write failures to standard output: give ${of('failures')} a file.`,
  },
  {
    isGiven: ({ changes }) => changes === '-',
    refusal: (of) => `Cannot write changes to standard output: give ${of('changes')} a file.`,
  },
  {
    isGiven: ({ merge, changes }) => merge !== undefined && changes !== undefined,
    refusal: (of) =>
      `Cannot use ${of('changes')} along with ${of('merge')}: the next run of the list tells of what was merged.`,
    givesWay: { merge: ['changes', 'key'] },
  },
  {
    isGiven: ({ merge, noHeader }) => merge !== undefined && noHeader === true,
    refusal: (of) =>
      `Cannot use ${of('noHeader')} along with ${of('merge')}: a failures file has a header; leave it out.`,
    givesWay: { merge: ['noHeader'] },
  },
  {
    isGiven: ({ merge, skipLines = 0 }) => merge !== undefined && skipLines > 0,
    refusal: (of) =>
      `Cannot use ${of('skipLines')} along with ${of('merge')}: a failures file begins with its header; leave it out.`,
    givesWay: { merge: ['skipLines'] },
  },
  {
    isGiven: ({ key, changes }) => key !== undefined && changes === undefined,
    refusal: (of) => `Cannot use ${of('key')} without a changes file: give ${of('changes')} too.`,
  },
  {
    isGiven: ({ logos, logoField }) => (logos === undefined) !== (logoField === undefined),
    refusal: (of, { logos }) =>
      `Cannot use ${of(logos === undefined ? 'logoField' : 'logos')} alone: ${of('logos')} is the folder for logos, ${of('logoField')} says where an answer has the URL of one; give both.`,
  },
  {
    isGiven: ({ workers, queue }) => workers === 0 && queue === undefined,
    refusal: (of) =>
      `Cannot leave all lookups to other workers without a queue: give ${of('queue')}, or set BRANDFILL_QUEUE.`,
  },
  {
    isGiven: ({ workers, maxCallsPer }) => workers === 0 && maxCallsPer !== undefined,
    refusal: (of) =>
      `Cannot hold ${of('maxCallsPer')} where no calls are made: give it to the workers (brandfill worker --max-calls-per), or leave out ${of('workers')} 0.`,
  },
  {
    isGiven: ({ maxCost, queue }) => maxCost !== undefined && queue !== undefined,
    refusal: (of) =>
      `Cannot hold ${of('maxCost')} over a queue, where workers make the calls: give ${of('maxCalls')}, or leave out ${of('queue')}.`,
  },
  {
    isGiven: ({ refresh, onlyMissing }) => refresh === true && onlyMissing === true,
    refusal: (of) =>
      `Cannot use ${of('refresh')} along with ${of('onlyMissing')}: the one asks about every domain again, the other leaves alone what was found; choose one.`,
    givesWay: { refresh: ['onlyMissing'], onlyMissing: ['refresh'] },
  },
  {
    isGiven: ({ fields }, { maxColumns }) => fields !== undefined && maxColumns !== undefined,
    refusal: (of) =>
      `Cannot use ${of('maxColumns')} along with ${of('fields')}: it is for the flattened answer, and ${of('fields')} says what the columns are; leave one out.`,
    givesWay: { fields: ['maxColumns'], maxColumns: ['fields'] },
  },
];

/** @throws BrandfillError `INVALID_SETTING` for the first combination that makes no sense */
export function refuseCombinations(settings: Settings, { given, describe }: Given): void {
  const found = COMBINATIONS.find(({ isGiven }) => isGiven(settings, given));
  if (found) throw new BrandfillError('INVALID_SETTING', found.refusal(describe, settings));
}

/** The settings of a job file that make no sense beside what is typed, and give way to it. */
export function overriddenBy(typed: Readonly<Record<string, unknown>>): ReadonlySet<string> {
  const pairs = COMBINATIONS.flatMap(({ givesWay = {} }) => Object.entries(givesWay));
  return new Set(pairs.flatMap(([key, others]) => (isTyped(typed[key]) ? others : [])));
}

function isTyped(value: unknown): boolean {
  return value !== undefined && value !== false;
}
