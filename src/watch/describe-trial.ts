import { wordsOf } from '../brand/network-error.ts';
import { formatDuration, formatUnits } from '../common/format.ts';
import { printable, printableLines } from '../common/text.ts';
import { textOfCell } from '../rows/csv/csv-writer.ts';
import type { Trial } from '../run/trial.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { describeMisdirectionOfOne, describeStop } from './describe.ts';
import { findReason, inWords } from './words.ts';

export interface DescribeTrialOptions {
  /** The domain as it was typed. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether the columns are those of `--fields`. */
  readonly hasFields: boolean;
}

const MOST_LINES = 40;
const HINT =
  'To keep these columns: the same command with --preset > brand.yaml, then --fields @brand.yaml.';

/** Describes in lines how the lookup of a domain ended, the answer, and the columns that it makes. */
export function describeTrial(trial: Trial, options: DescribeTrialOptions): readonly string[] {
  const { answer } = trial;
  const lines = describeEnd(trial, options);
  if (!answer) return lines;
  const json = printableLines(JSON.stringify(answer, undefined, 2)).split('\n');
  const left = json.length - MOST_LINES;
  return [
    ...lines,
    '',
    ...json.slice(0, MOST_LINES).map((line) => cut(line, 160)),
    ...(left > 0 ? [`… ${left} more lines; --json shows all`] : []),
    '',
    ...describeColumns(trial),
    ...(options.hasFields ? [] : ['', HINT]),
  ];
}

/** Describes in lines how the lookup ended. */
export function describeEnd(
  trial: Trial,
  { text, nowMs }: Pick<DescribeTrialOptions, 'text' | 'nowMs'>,
): readonly string[] {
  const { domain, stopped } = trial;
  const read = text === domain ? [] : [`'${printable(text)}' is looked up as ${domain}.`];
  if (stopped) return [...read, `${domain}: nothing learned. ${describeWhy(stopped, trial)}`];
  return [...read, `${domain}: ${describeOutcome(trial)} ${describeCost(trial, nowMs)}`];
}

/** Says of each answer what it means, and what decided. */
export function describeAnswers({ answers }: Trial): readonly string[] {
  return answers.map(({ httpStatus, means, rule, when, waitMs, bill }, at) => {
    const status = httpStatus === undefined ? 'no answer' : String(httpStatus);
    const by = rule === undefined ? 'no rule fits, as without a profile' : `rule ${rule}: ${when}`;
    const wait = waitMs === undefined ? '' : `, again in ${formatDuration(waitMs)}`;
    const cost = bill ? ` Billed: ${formatUnits(bill)}.` : '';
    return `Call ${at + 1}: ${status} means ${means}${wait} (${printable(by)}).${cost}`;
  });
}

function describeOutcome({ status, reason, httpStatus }: Trial): string {
  const of = httpStatus === undefined ? '' : ` (${httpStatus})`;
  const why = printable(reason);
  switch (status) {
    case 'found':
      return `found${of}.`;
    case 'not_found':
      return `not found: the API knows no such brand${of}.`;
    case 'rejected':
      return `rejected: the API refused this domain${of}: ${why}.${httpStatus === 403 ? FORBIDDEN : ''}`;
    case 'pending':
      return `pending: the API has accepted the lookup, and has no answer ready${of}. Try again later.`;
    default:
      return `${status}: ${describeFailure(reason) ?? `${why}${of}`}.`;
  }
}

/** One refusal alone does not show what is refused. */
const FORBIDDEN = ' If it refuses others too, check --auth and what the credential is allowed.';

function describeFailure(reason: string): string | undefined {
  const words = wordsOf(reason);
  if (words) return `${words.what}; ${words.check}`;
  const own = findReason(reason);
  return own && `${own.short}. ${inWords(own.advice)}`.replace(/\.$/, '');
}

function describeCost({ isFromStore, fetchedAt, calls, elapsedMs }: Trial, nowMs: number): string {
  if (!isFromStore) return `${calls} call${calls === 1 ? '' : 's'}, ${formatDuration(elapsedMs)}.`;
  const ageMs = Math.max(0, nowMs - Date.parse(fetchedAt ?? ''));
  return `From the store, fetched ${formatDuration(ageMs)} ago (${fetchedAt}); no call was made. --refresh asks again.`;
}

/** The words for runs speak of the first five calls; here there is only one. */
function describeWhy(stop: Stop, { calls }: Trial): string {
  const { seen, reason, comeBackAtMs } = stop;
  if (seen) return `${describeMisdirectionOfOne(seen)} Nothing of it is kept.`;
  if (reason !== 'quota' || calls > 0) return describeStop(stop);
  const until = comeBackAtMs === undefined ? '' : ` until ${new Date(comeBackAtMs).toISOString()}`;
  return `No call was made: the API has told an earlier run to wait${until}.`;
}

const HEADER = ['column', 'JMESPath', 'value'] as const;
const MOST_OF_NAME = 40;
const MOST_OF_VALUE = 60;

/** A table with the name, JMESPath and value of each column. */
function describeColumns({ columns }: Trial): readonly string[] {
  const rows = columns.map(({ name, expression, value }) => [
    printable(name),
    expression === undefined ? '(all else)' : printable(expression),
    cut(printable(textOfCell(value)), MOST_OF_VALUE),
  ]);
  const [names = 0, expressions = 0] = [0, 1].map((at) =>
    Math.min(MOST_OF_NAME, Math.max(...[HEADER, ...rows].map((row) => (row[at] ?? '').length))),
  );
  return [HEADER, ...rows].map(([name = '', expression = '', value = '']) =>
    `${name.padEnd(names)}  ${expression.padEnd(expressions)}  ${value}`.trimEnd(),
  );
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
