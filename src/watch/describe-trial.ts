import { formatDuration, formatUnits } from '../common/format.ts';
import { printable, printableLines, shortenTo } from '../common/text.ts';
import { textOfCell } from '../rows/csv/csv-writer.ts';
import type { Trial } from '../run/trial.ts';
import { describeStop } from './describe.ts';
import { adviseOn, describeMisdirection } from './reasons.ts';
import { STATUSES } from './words.ts';

export interface DescribeTrialOptions {
  /** The domain as it was typed. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether the columns are those of `--fields`. */
  readonly hasFields: boolean;
}

const MOST_LINES = 40;
const HINT = 'To choose columns: --fields NAME=JMESPath,NAME=JMESPath,… (docs/columns.md).';

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
    ...json.slice(0, MOST_LINES).map((line) => line.replace(/^(.{160}).+/, '$1…')),
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
  const { domain, stopped, isFromStore, fetchedAt = '', calls, elapsedMs } = trial;
  const ageMs = Math.max(0, nowMs - Date.parse(fetchedAt));
  const cost = isFromStore
    ? `From the store, fetched ${formatDuration(ageMs)} ago (${fetchedAt}); no call was made. --refresh asks again.`
    : `${calls} call${calls === 1 ? '' : 's'}, ${formatDuration(elapsedMs)}.`;
  return [
    ...(text === domain ? [] : [`'${printable(text)}' is looked up as ${domain}.`]),
    `${domain}: ${stopped ? `nothing learned. ${whyOf(trial)}` : `${outcomeOf(trial)} ${cost}`}`,
  ];
}

/** Says of each answer what it means, and what decided. */
export function describeAnswers({ answers }: Trial): readonly string[] {
  return answers.map(({ httpStatus = 'no answer', means, rule, when, waitMs, bill }, at) => {
    const by = rule === undefined ? 'no rule fits, as without a profile' : `rule ${rule}: ${when}`;
    const wait = waitMs === undefined ? '' : `, again in ${formatDuration(waitMs)}`;
    const cost = bill ? ` Billed: ${formatUnits(bill)}.` : '';
    return `Call ${at + 1}: ${httpStatus} means ${means}${wait} (${printable(by)}).${cost}`;
  });
}

function outcomeOf(trial: Trial): string {
  const { status, reason, httpStatus } = trial;
  const of = httpStatus === undefined ? '' : ` (${httpStatus})`;
  if (status === 'found') return `found${of}.`;
  const said = status === 'rejected' ? ` It says: ${printable(reason)}.` : '';
  // One refusal alone does not show what is refused.
  const doubt =
    httpStatus === 403
      ? ' If it refuses others too, check --auth and what the credential is allowed.'
      : '';
  return `${STATUSES[status].name}${of}. ${adviseOn(trial)}${said}${doubt}`;
}

/** The words for runs speak of the first five calls; here there is only one. */
function whyOf({ stopped, calls }: Trial): string {
  if (!stopped) return '';
  const { seen, reason, comeBackAtMs } = stopped;
  if (seen) return `${describeMisdirection(seen)} Nothing of it is kept.`;
  if (reason !== 'quota' || calls > 0) return describeStop(stopped);
  const until = comeBackAtMs === undefined ? '' : ` until ${new Date(comeBackAtMs).toISOString()}`;
  return `No call was made: the API has told an earlier run to wait${until}.`;
}

/** A table with the name, JMESPath and value of each column. */
function describeColumns({ columns }: Trial): readonly string[] {
  const rows = columns.map(({ name, expression = '(all else)', value }) => ({
    name: printable(name),
    expression: printable(expression),
    value: shortenTo(printable(textOfCell(value)), 60),
  }));
  const table = [{ name: 'column', expression: 'JMESPath', value: 'value' }, ...rows];
  const widthOf = (of: 'name' | 'expression'): number =>
    Math.min(40, Math.max(...table.map((row) => row[of].length)));
  const [names, expressions] = [widthOf('name'), widthOf('expression')];
  return table.map(({ name, expression, value }) =>
    `${name.padEnd(names)}  ${expression.padEnd(expressions)}  ${value}`.trimEnd(),
  );
}
