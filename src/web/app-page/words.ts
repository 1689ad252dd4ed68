import type { AppRun, AppRunState, Cost, Plural, RowStatusName } from '../app/contract.ts';
import { amount, count } from '../page/format.js';

// Numbers and words for people, in the way the browser's language writes numbers.

/** `12 cells`: a count, and the word that goes with it. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** `12 cells hold no web address`. */
export function sentence(value: number, { one, many }: Plural): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** Of a file, in the units that the file manager of most systems has. */
export function size(bytes: number): string {
  const [unit, divisor] =
    bytes < 1_000
      ? (['byte', 1] as const)
      : bytes < 1_000_000
        ? (['kilobyte', 1_000] as const)
        : (['megabyte', 1_000_000] as const);
  const digits = divisor > 1 && bytes / divisor < 10 ? 1 : 0;
  return new Intl.NumberFormat(undefined, {
    style: 'unit',
    unit,
    maximumFractionDigits: digits,
  }).format(bytes / divisor);
}

/** What it costs, in words; undefined when nothing is known of it. */
export function costOf({ units, unit, money }: Cost): string | undefined {
  const parts = [
    units === undefined ? undefined : amount(units, unitOf(units, unit)),
    // In the currency of whoever gave the price.
    money === undefined ? undefined : moneyOf(money),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** Units are named as many: `credits`. */
function unitOf(units: number, unit = 'units'): string {
  return units === 1 ? unit.replace(/s$/, '') : unit;
}

/** An amount of money without a sign: the price was given without one. */
export function moneyOf(value: number): string {
  const digits = value !== 0 && Math.abs(value) < 0.1 ? 4 : 2;
  return value.toLocaleString(undefined, {
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
}

/** A day and a time, in the time zone of whoever reads it. */
export function dayAndTime(ms: number): string {
  return new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' }).format(ms);
}

/** How a run ended, in a sentence or two. */
export function summaryOf(run: AppRun): string {
  const cost = run.cost && costOf(run.cost);
  const calls = run.calls === undefined ? [] : [counted(run.calls, 'call')];
  const paid = [...calls, ...(cost === undefined ? [] : [cost])].join(', ');
  const found = (run.statuses?.found ?? 0) + (run.statuses?.stale ?? 0);
  return [
    ...(run.statuses
      ? [`${count(found)} of ${counted(rowsOf(run), 'row')} ${found === 1 ? 'is' : 'are'} found.`]
      : []),
    ...(paid === '' ? [] : [`${paid}.`]),
  ].join(' ');
}

/** What may have become of a row, in the order in which people ask for it. */
const STATUS_ORDER: readonly RowStatusName[] = [
  'found',
  'stale',
  'not_found',
  'invalid',
  'failed',
  'rejected',
  'pending',
  'skipped',
];

/** The statuses that some rows have. */
export function statusesOf({
  statuses = {},
}: Pick<AppRun, 'statuses'>): readonly (readonly [RowStatusName, number])[] {
  return STATUS_ORDER.map((name) => [name, statuses[name] ?? 0] as const).filter(
    ([, rows]) => rows > 0,
  );
}

/** What became of a row: a word for a mark, and how good that is. */
export const STATUSES: Readonly<Record<RowStatusName, StatusWords>> = {
  found: { name: 'Found', tone: 'good' },
  not_found: { name: 'Not found', tone: 'quiet' },
  invalid: { name: 'No web address', tone: 'warning' },
  rejected: { name: 'Refused', tone: 'bad' },
  failed: { name: 'Failed', tone: 'bad' },
  pending: { name: 'Not ready yet', tone: 'warning' },
  stale: { name: 'Found earlier', tone: 'good' },
  skipped: { name: 'Not asked yet', tone: 'quiet' },
};

interface StatusWords {
  readonly name: string;
  readonly tone: 'good' | 'quiet' | 'warning' | 'bad';
}

/** How a run is, in a word or two. */
export const RUN_STATES: Readonly<Record<AppRunState, StatusWords>> = {
  running: { name: 'Running', tone: 'good' },
  asking: { name: 'Waits for your answer', tone: 'warning' },
  interrupted: { name: 'Interrupted', tone: 'warning' },
  stopped: { name: 'Stopped', tone: 'warning' },
  done: { name: 'Done', tone: 'good' },
  failed: { name: 'Failed', tone: 'bad' },
};

/** How many rows a result has, by what became of them. */
export function rowsOf({ statuses }: Pick<AppRun, 'statuses'>): number {
  return Object.values(statuses ?? {}).reduce((sum, rows) => sum + rows, 0);
}
