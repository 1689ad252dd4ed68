import { domainToUnicode } from 'node:url';
import { sentenceOn } from '../brand/network-error.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import { BrandfillError } from '../common/errors.ts';
import { countOf, formatCount } from '../common/format.ts';
import { withoutSecrets } from '../common/secrets.ts';
import { findReason } from '../watch/reasons.ts';
import type { Summary } from '../watch/summary.ts';
import type { Plural } from '../web/app/contract.ts';
import type { Stop } from '../worker/stop-switch.ts';
import { AppRefusal, refusalOfDisk, refusalOfSpace } from './folder.ts';

// The words of the page: what the command line says of flags and files, said of what a person at the
// page sees and can do.

/** Of cells without a domain, to follow their number. */
export function wordsOfInvalid(reason: string): Plural {
  return INVALID[reason] ?? { one: 'cell cannot be used', many: 'cells cannot be used' };
}

const INVALID: Readonly<Record<string, Plural>> = {
  empty: { one: 'cell is blank', many: 'cells are blank' },
  ip_address: {
    one: 'cell holds the number of a computer (an IP address) and no name',
    many: 'cells hold the number of a computer (an IP address) and no name',
  },
  single_label: { one: 'cell holds no web address', many: 'cells hold no web address' },
  contains_space: {
    one: 'cell holds words and no web address',
    many: 'cells hold words and no web address',
  },
  public_suffix: {
    one: 'cell holds only the end of a web address, such as co.uk',
    many: 'cells hold only the end of a web address, such as co.uk',
  },
  label_too_long: {
    one: 'cell is too long for a web address',
    many: 'cells are too long for a web address',
  },
  domain_too_long: {
    one: 'cell is too long for a web address',
    many: 'cells are too long for a web address',
  },
  several_domains: {
    one: 'cell holds several web addresses',
    many: 'cells hold several web addresses',
  },
  unknown_tld: {
    one: 'cell ends in what no web address ends in',
    many: 'cells end in what no web address ends in',
  },
  free_mail: {
    one: 'cell holds an address of free mail, such as gmail.com, which is no company',
    many: 'cells hold addresses of free mail, such as gmail.com, which is no company',
  },
  shared_host: {
    one: 'cell leads to a page on a site that many share, such as facebook.com',
    many: 'cells lead to pages on sites that many share, such as facebook.com',
  },
  too_many_cells: {
    one: 'row has more cells than there are columns, so its address may be in the wrong place',
    many: 'rows have more cells than there are columns, so their addresses may be in the wrong place',
  },
  torn_row: {
    one: 'row is the rest of the row above, which a line break in a text has cut in two',
    many: 'rows are the rest of the rows above, which line breaks in texts have cut in two',
  },
  malformed: {
    one: 'cell holds signs that no web address has',
    many: 'cells hold signs that no web address has',
  },
};

/** Why a row or a domain has no answer, and what to do; empty for one that was found. */
export function wordsOfStatus(status: RowStatus, reason: string): string {
  switch (status) {
    case 'found':
      return '';
    case 'invalid': {
      const { one } = wordsOfInvalid(reason);
      return `The ${one}. Correct it here, and ask again.`;
    }
    case 'not_found':
      return 'The API knows no company at this address. If the address is wrong, correct it here.';
    case 'rejected':
      return `The API refuses this address${said(reason)}.`;
    case 'pending':
      return 'The API has no answer ready yet. Go on later, and it is asked again.';
    case 'stale':
      return 'It could not be asked again, and the row has an older answer.';
    case 'skipped':
      return 'Not asked yet, because the run stopped before. Go on, and it is asked.';
    case 'failed':
      return `No answer came${said(reason)}. Go on, and it is asked again.`;
  }
}

function said(reason: string): string {
  return reason === '' ? '' : ` (${wordsOfReason(reason)})`;
}

/** Why a lookup failed, in a few words. What the API itself said is left as it is. */
export function wordsOfReason(reason: string): string {
  const advice = sentenceOn(reason) ?? findReason(reason)?.advice;
  const [first = reason] = (advice ?? reason).split(/(?<=[.:])\s/);
  return plainly(first).replace(/[.:]+$/, '');
}

/** A domain as people write it: `müller.de`. */
export function shownDomain(domain: string): string {
  return domainToUnicode(domain) || domain;
}

/** How many rows came to which end: `10 rows found, 1 not known, 3 without a web address.` */
export function countsOf({ statuses, rows }: Pick<Summary, 'statuses' | 'rows'>): string {
  const parts = Object.entries(ENDS).flatMap(([status, words]) => {
    const count = statuses[status as RowStatus];
    return count > 0 ? [`${formatCount(count)} ${words}`] : [];
  });
  return `${countOf(rows, 'row')}: ${parts.join(', ')}.`;
}

const ENDS: Readonly<Record<RowStatus, string>> = {
  found: 'found',
  stale: 'with an older answer',
  not_found: 'not known',
  rejected: 'refused by the API',
  failed: 'without an answer',
  pending: 'with no answer yet',
  invalid: 'without a web address',
  skipped: 'not asked yet',
};

/** Why a run or a test stopped, and what to do. */
export function wordsOfStop({ reason, refusal, comeBackAtMs, seen, storeError }: Stop): string {
  const when =
    comeBackAtMs === undefined
      ? ''
      : ` It says to come back at ${new Date(comeBackAtMs).toISOString().slice(0, 16).replace('T', ' ')} (UTC).`;
  const quoted = refusal && refusal.said !== '' ? `: “${refusal.said.slice(0, 200)}”` : '';
  switch (reason) {
    case 'unauthorized':
      return 'The API does not accept the key. Check it under Connect (is it whole, of this API, and sent in the right way?), then go on. What was found is kept.';
    case 'forbidden':
      return `The API accepts the key but does not allow these calls${quoted}. Ask its makers what the key may do, then go on. What was found is kept.`;
    case 'refused':
      return `The API refuses every address in the same way${quoted}. Check the key and the address of the API under Connect, then go on. What was found is kept.`;
    case 'quota':
      return `What the key may ask is used up.${when} Buy more or wait until there is more, then go on: what was found is kept and not paid for again.`;
    case 'outage':
      return `The API is out.${when} Go on when it is back: what was found is kept.`;
    case 'misdirected':
      return `The address of the API seems to be wrong: ${plainly(seen === undefined ? 'its answers are no answers' : describeSeen(seen))} Check it under Connect. Nothing was changed.`;
    case 'max_failed':
      return 'Too many companies could not be asked, so it stopped before more is spent. Look at the reasons in the table, then go on.';
    case 'max_calls':
      return 'All calls that you allowed are made. Go on to allow as many again.';
    case 'max_cost':
      return 'What you allowed is spent. Go on to allow as much again.';
    case 'max_calls_per':
      return `All calls that are allowed for this time are made.${when}`;
    case 'unusable_store':
      return `${plainly(storeError ?? '')} What was found so far is in the result. Make room on the disk, then go on.`.trim();
    case 'interrupted':
      return 'Stopped. What was found is kept: go on when you like.';
    case 'error':
      return 'It stopped because of an error.';
  }
}

function describeSeen(seen: string): string {
  return sentenceOn(seen) ?? 'what came back is no answer about a company.';
}

/** How a run ended, in sentences; the first one says the most. */
export function linesOfSummary(summary: Summary): readonly string[] {
  const { statuses, rows, stopped, freshDomains } = summary;
  const lines: string[] = [];
  if (stopped) lines.push(wordsOfStop(stopped));
  else if (rows > 0 && statuses.invalid === rows) {
    lines.push('No row holds a web address: was it the right column? Choose another in the list.');
  } else if (rows > 0 && statuses.found + statuses.stale === 0) {
    lines.push(
      'No company was found. Test a company that you are sure of under Connect, and look at the column with the addresses.',
    );
  }
  if (statuses.failed > 0 && !stopped) {
    lines.push('Some companies could not be asked. Go on, and only these are asked again.');
  }
  if (statuses.pending > 0) {
    lines.push('For some companies the API has no answer ready yet. Go on later to ask for it.');
  }
  if (freshDomains > 0) {
    const were = freshDomains === 1 ? 'company was' : 'companies were';
    lines.push(`${formatCount(freshDomains)} ${were} known already, and cost nothing this time.`);
  }
  return lines;
}

/** What went wrong, for people. It never holds a credential. */
export function refusalOf(error: unknown, folder: string): AppRefusal {
  if (error instanceof AppRefusal) return error;
  if (error instanceof BrandfillError) {
    const message = plainly(error.message, folder);
    const isFull = /the disk is full|larger than a file may be/.test(error.message);
    if (isFull) return refusalOfSpace(folder, error);
    const code = CODES[error.code] ?? 'UNEXPECTED';
    return new AppRefusal(code, message, { cause: error });
  }
  if (typeof error === 'object' && error !== null && 'syscall' in error) {
    return refusalOfDisk(error, folder);
  }
  const why = error instanceof Error ? error.message : String(error);
  return new AppRefusal('UNEXPECTED', `Something unexpected happened: ${plainly(why, folder)}`, {
    cause: error,
  });
}

const CODES: Readonly<Partial<Record<BrandfillError['code'], AppRefusal['code']>>> = {
  INVALID_SETTING: 'INVALID_SETTING',
  UNREADABLE_INPUT: 'UNREADABLE_INPUT',
  UNWRITABLE_OUTPUT: 'UNWRITABLE_OUTPUT',
  OUTPUT_IN_USE: 'OUTPUT_IN_USE',
  UNUSABLE_STORE: 'UNWRITABLE_OUTPUT',
};

/**
 * A message of the library for people at the page: files by their names, and what they can click
 * instead of flags.
 *
 * @param folder the folder of the app, which they need not know. @default left alone
 */
export function plainly(message: string, folder = ''): string {
  let text = withoutSecrets(message);
  if (folder !== '') {
    text = text.replaceAll(new RegExp(`${escape(folder)}[/\\\\](?:[^\\s'",;:]*[/\\\\])*`, 'g'), '');
  }
  for (const [flag, words] of FLAGS) text = text.replaceAll(flag, words);
  return text;
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

const FLAGS: readonly (readonly [RegExp, string])[] = [
  [/; (?:or )?give --no-header/g, '; or say that the first line is a row'],
  [/; if it is the header, name the column with --domain-column/g, '; or choose the column'],
  [/name it with --domain-column/g, 'choose it in the table'],
  [/--domain-column/g, 'the column with the addresses'],
  [/--sheet takes/g, 'there are also'],
  [/give --skip-lines (\d+)/g, 'skip $1 lines at the top'],
  [/--base-url/g, 'the address of the API'],
  [/--auth and BRANDFILL_API_KEY/g, 'the key'],
  [/(?:, or )?(?:BRANDFILL_API_KEY|--api-key-file(?: FILE)?)/g, 'the key'],
  [/--auth/g, 'how the key is sent'],
  [/--(?:max-calls|max-cost|max-failed|price|rate|encoding|param|header)\b/g, 'the setting'],
  [/leave --encoding out/g, 'let the encoding be found'],
  [/run the same command again/gi, 'go on'],
  [/--[a-z]+(?:-[a-z]+)*/g, 'the setting'],
];
