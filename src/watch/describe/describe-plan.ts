import { formatDuration } from '../../job/values/duration.ts';
import { formatPrice, formatUnits } from '../../job/values/quantities.ts';
import type { InvalidRow } from '../../producer/invalid-row.ts';
import type { Plan, PlanEstimate } from '../../producer/plan.ts';
import { shorten } from '../../rows/columns/names.ts';
import type { RunEvent } from '../events.ts';
import { countOf, formatCount, formatRate } from './format.ts';

type Opened = Extract<RunEvent, { type: 'opened' }>;

/** Describes in a line how the input was understood. */
export function describeInput(event: Opened): string {
  const { input, format, column } = event;
  const others = describeOthers(event);
  return `${input} is ${format}; domains are in column ${describeColumn(column)}${others && `; ${others}`}`;
}

/** Describes the plan in lines. */
export function describePlan(plan: Plan): readonly string[] {
  const { rows, uniqueDomains, invalidRows, freshDomains, calls } = plan;
  const lines = [
    `Plan: ${countOf(rows, 'row')}, ${countOf(uniqueDomains, 'unique domain')}, ` +
      `${formatCount(invalidRows)} invalid, ${formatCount(freshDomains)} fresh, ${countOf(calls, 'call')} to make${describeUnmade(plan)}`,
    invalidRows > 0 && `Invalid, for example: ${plan.invalidExamples.map(inLine).join('; ')}`,
    describeTimeAndCost(plan),
    ...oddities(plan),
  ];
  return lines.filter((line) => line !== false && line !== '') as string[];
}

/**
 * Describes how the input was understood, as a block of lines for somebody who will be asked to
 * confirm.
 */
export function inputBlock(event: Opened): readonly string[] {
  const { input, format, column } = event;
  const others = describeOthers(event);
  return [
    shorten(input),
    entry('format', format),
    entry('domains', `in column ${describeColumn(column)}`),
    ...(others === '' ? [] : [entry('', others)]),
  ];
}

/**
 * Describes the plan in the same way.
 *
 * @param runId the id of the run in logs; missing where it has none
 */
export function planBlock(plan: Plan, runId?: string): readonly string[] {
  const { rows, uniqueDomains, freshDomains, invalidRows, invalidExamples, estimate } = plan;
  const fresh = freshDomains > 0 ? `, ${formatCount(freshDomains)} of them fresh in the store` : '';
  const more = invalidRows > invalidExamples.length ? ', such as' : '';
  return [
    entry('rows', [formatCount(rows), ...oddities(plan)].join('; ')),
    entry('unique', `${countOf(uniqueDomains, 'domain')}${fresh}`),
    entry('invalid', invalidRows === 0 ? 'none' : `${describeReasons(plan)}${more}`),
    ...invalidExamples.map((row) => entry('', inLine(row))),
    entry('calls', `${formatCount(plan.calls)} to make${describeUnmade(plan)}`),
    ...(plan.calls === 0 ? [] : [entry('time', describeTime(estimate))]),
    ...(plan.cost === undefined && !plan.bill ? [] : [entry('cost', describeCost(plan))]),
    ...(runId === undefined ? [] : [entry('run', runId)]),
  ];
}

function entry(name: string, text: string): string {
  return `  ${name.padEnd(8)} ${text}`;
}

function describeColumn({ name, by, example, isDoubtful }: Opened['column']): string {
  const against = isDoubtful ? ', although its name speaks against it' : '';
  const how = by === 'option' ? 'as told' : `guessed by ${isDoubtful ? 'content' : by}${against}`;
  const such = example === undefined ? '' : `, such as '${shorten(example)}'`;
  return `'${shorten(name)}' (${how})${such}`;
}

const MOST_OTHERS = 3;

function describeOthers({ column }: Opened): string {
  const { others = [] } = column;
  if (others.length === 0) return '';
  const isShared = (name: string): boolean =>
    [column, ...others].filter((each) => each.name === name).length > 1;
  const named = others
    .slice(0, MOST_OTHERS)
    .map(
      ({ index, name }) => `'${shorten(name)}'${isShared(name) ? ` (column ${index + 1})` : ''}`,
    );
  const more = others.length - named.length;
  const all = more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
  return `also possible: ${all}; --domain-column takes another`;
}

/** Says that more lookups are due than calls are made. */
function describeUnmade({ calls, lookups }: Plan): string {
  return calls < lookups ? ` of the ${formatCount(lookups)} due` : '';
}

/** `row 7 (empty)`, `sheet row 8 'http://localhost' (single_label)`. */
function inLine({ row, sheetRow, line, reason, cell }: InvalidRow): string {
  const inFile = line === undefined ? '' : ` in line ${line}`;
  const place =
    sheetRow === undefined ? `row ${formatCount(row)}${inFile}` : `sheet row ${sheetRow}`;
  return `${place} ${cell === '' ? '' : `'${cell}' `}(${reason})`;
}

/** `6 rows: 3 single_label, 2 empty, 1 free_mail`, the most frequent first. */
function describeReasons({ invalidRows, invalidByReason }: Plan): string {
  const reasons = Object.entries(invalidByReason)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, rows]) => `${formatCount(rows)} ${reason}`);
  return `${countOf(invalidRows, 'row')}: ${reasons.join(', ')}`;
}

function describeTimeAndCost(plan: Plan): string {
  if (plan.calls === 0) return '';
  const parts = [
    plan.estimate && `takes ${describeTime(plan.estimate)}`,
    (plan.cost !== undefined || plan.bill) && `costs ${describeCost(plan)}`,
  ].filter((part) => typeof part === 'string');
  const text = parts.join('; ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function describeTime(estimate: PlanEstimate | undefined): string {
  if (estimate === undefined) return 'not known before the limit of the API is';
  const { durationMs, limitPerSecond, limitIs } = estimate;
  const whose = limitIs === 'fixed' ? 'as told' : 'the limit that the last run met';
  const seconds = Math.round(durationMs / 1_000);
  const time = seconds < 1 ? 'a second' : `about ${formatDuration(seconds * 1_000)}`;
  return `${time} at ${formatRate(limitPerSecond)}, ${whose}`;
}

function describeCost({ bill, cost = 0, price }: Plan): string {
  if (bill) {
    const money =
      price === undefined ? '' : ` (${formatPrice(cost)} at ${formatPrice(price)} each)`;
    return `at most ${formatUnits(bill)}${money}, if none has to be made twice`;
  }
  return `${formatPrice(cost)} at ${formatPrice(price ?? 0)} a call, if none has to be made twice`;
}

function oddities(plan: Plan): readonly string[] {
  const { raggedRows, shortRows, firstShiftedLine, blankLines, blankRows } = plan;
  const shifted = plan.invalidByReason['too_many_cells'] ?? 0;
  const long = raggedRows - shortRows - shifted;
  return [
    shifted > 0 &&
      `${countOf(shifted, 'row')} with more cells than the header, not looked up because the domain may be in another column, the first in line ${firstShiftedLine}; quote texts that hold a delimiter`,
    long > 0 && `${countOf(long, 'row')} with more cells than the header, kept as they are`,
    shortRows > 0 && `${countOf(shortRows, 'row')} with fewer cells than the header, filled up`,
    blankLines > 0 && `${countOf(blankLines, 'blank line')} left out`,
    blankRows > 0 && `${countOf(blankRows, 'row')} of nothing but delimiters, kept as they are`,
  ].filter((line) => line !== false);
}
