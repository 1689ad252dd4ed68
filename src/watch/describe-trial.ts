import {
  type AddressReason,
  isAddressReason,
  sentenceOn,
  wordsOf,
} from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
import { formatDuration, formatUnits } from '../common/format.ts';
import { printable, printableLines } from '../common/text.ts';
import { textOfCell } from '../rows/csv/csv-writer.ts';
import type { Trial, TrialColumn } from '../run/run-to-trial.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { describeStop } from './describe.ts';

export interface DescribeTrialOptions {
  /** The domain as it was typed. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** Whether the columns are those of `--fields`. */
  readonly hasFields: boolean;
  readonly timeoutMs?: number;
}

const MOST_LINES = 40;
const MOST_LINE_LENGTH = 160;

/**
 * Describes in lines what was learned of a domain: how its lookup ended, the answer, the columns
 * that it makes.
 */
export function describeTrial(trial: Trial, options: DescribeTrialOptions): readonly string[] {
  const { answer, columns } = trial;
  const lines = [...describeEnd(trial, options)];
  if (!answer) return lines;
  return [
    ...lines,
    '',
    ...describeAnswer(answer),
    '',
    ...describeColumns(columns),
    ...(options.hasFields ? [] : ['', HINT]),
  ];
}

const HINT =
  'To keep these columns: the same command with --preset > brand.yaml, then --fields @brand.yaml.';

/** Describes in lines how the lookup ended. */
export function describeEnd(
  trial: Trial,
  { text, nowMs }: Pick<DescribeTrialOptions, 'text' | 'nowMs'>,
): readonly string[] {
  const { domain } = trial;
  const read = text === domain ? [] : [`'${printable(text)}' is looked up as ${domain}.`];
  if (trial.stopped)
    return [...read, `${domain}: nothing learned. ${describeWhy(trial.stopped, trial)}`];
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
  return words ? `${words.what}; ${words.check}` : FAILURES[reason];
}

const FAILURES: Readonly<Record<string, string>> = {
  redirect_without_domain: 'the API redirects to an address without the domain; check --base-url',
  invalid_response: 'the answer was no JSON object in UTF-8; check --base-url',
  response_too_large: 'the answer was longer than 10 MiB, or its headers than 16 KiB',
  redirect_to_another_origin: 'the API redirects to another origin; check --base-url',
  too_many_redirects: 'the API redirects again and again',
  throttled: 'the API refused it for ten minutes, each time for the moment (429 and the like)',
};

function describeCost({ isFromStore, fetchedAt, calls, elapsedMs }: Trial, nowMs: number): string {
  if (!isFromStore) {
    return `${calls} call${calls === 1 ? '' : 's'}, ${formatDuration(elapsedMs)}.`;
  }
  const ageMs = nowMs - Date.parse(fetchedAt ?? '');
  return `From the store, fetched ${formatDuration(Math.max(0, ageMs))} ago (${fetchedAt}); no call was made. --refresh asks again.`;
}

/** Says why it stopped. The words for runs speak of the first five calls; here there is only one. */
function describeWhy(stop: Stop, { calls }: Trial): string {
  const { seen, reason, comeBackAtMs } = stop;
  if (seen) return `${describeMisdirection(seen)} Nothing of it is kept.`;
  if (reason === 'quota' && calls === 0) {
    const until =
      comeBackAtMs === undefined ? '' : ` until ${new Date(comeBackAtMs).toISOString()}`;
    return `No call was made: the API has told an earlier run to wait${until}.`;
  }
  return describeStop(stop);
}

function describeMisdirection(seen: Misdirection): string {
  return isAddressReason(seen) ? sentenceOn(seen) : MISDIRECTIONS[seen];
}

const MISDIRECTIONS: Readonly<Record<Exclude<Misdirection, AddressReason>, string>> = {
  not_found_page:
    'The answer was 404 with a page that is no JSON, as a wrong path gives: check --base-url.',
  not_found_doubled:
    'The answer was 404, and --base-url ends in /v1, which each call adds by itself: leave it off, or try a domain that is known.',
  bad_request_page:
    'The answer was 400 with a page that is no JSON: check --base-url, for one its https:// and its port.',
  no_json:
    'The answer was 200 with something that is no JSON object, such as a page for people: check --base-url, and whether a proxy or a login stands between.',
  redirect_to_another_origin:
    'The API redirects to another origin: check --base-url, for one its https:// and its host.',
  same_answer:
    'The answer is the same for different domains: check --base-url, and whether a login or a page of welcome stands between.',
  lost_domain:
    'The API redirects to an address without the domain, which can only answer about something else, such as a login: check --base-url, for one its https:// and its host.',
  bot_wall:
    'The answer was a refusal with a page for people, such as a check for bots shows: ask the makers of the API to let your address or your User-Agent (--header) through, and check --base-url.',
};

function describeAnswer(answer: object): readonly string[] {
  const lines = printableLines(JSON.stringify(answer, undefined, 2)).split('\n');
  const shown = lines.slice(0, MOST_LINES).map((line) => cut(line, MOST_LINE_LENGTH));
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `… ${left} more lines; --json shows all`];
}

const HEADER = ['column', 'JMESPath', 'value'] as const;
const MOST_OF_NAME = 40;
const MOST_OF_VALUE = 60;

/** A table with the name, JMESPath and value of each column. */
function describeColumns(columns: readonly TrialColumn[]): readonly string[] {
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
