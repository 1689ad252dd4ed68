import type { OutcomeStatus } from '../brand/outcome.ts';
import { formatDuration } from '../common/format.ts';
import type { StopReason } from '../worker/stop-switch.ts';
import type { Wait } from './run-view.ts';

// The words for statuses, reasons, stops and phases, said once for terminal, log, page and report.
// Reasons of rows stand in `reasons.ts`, which the page does not load. Names of settings and
// what to do next are in braces, since a terminal and a page have other names for them.

/** Names a setting, or what somebody does to go on (`again`). */
export type Naming = (name: string) => string;

/** The names on a terminal, in a log and in a report. */
export const ON_TERMINAL: Naming = (name) =>
  TERMINAL_NAMES[name] ?? `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

const TERMINAL_NAMES: Readonly<Record<string, string>> = {
  again: 'run the same command again',
  toGoOn: ' to go on',
  credential: '--auth and BRANDFILL_API_KEY',
  tryOne: 'brandfill try DOMAIN',
};

/** The names on the page of `brandfill app`. */
export const ON_PAGE: Naming = (name) => PAGE_NAMES[name] ?? 'the setting';

const PAGE_NAMES: Readonly<Record<string, string>> = {
  again: 'press Go on',
  toGoOn: '',
  credential: 'the key, under Connect',
  tryOne: 'ask about three companies, under Columns',
  api: 'the profile',
  apiKeyFile: 'the key',
  auth: 'how the key is sent',
  baseUrl: 'the address of the API',
  concurrency: 'the calls at once',
  domainColumn: 'the column with the addresses',
  fields: 'the columns',
  maxCalls: '“Calls, at most”',
  maxCost: 'the most to spend',
  maxFailed: 'the bound on failures',
  maxOutage: 'a run waits for',
  maxWait: 'a run waits for',
  param: 'the parameters',
  price: 'the price',
  rate: 'the pace',
  sheet: 'the sheet',
  timeout: 'the time for an answer',
};

/** A text of this file with the names of a surface; at the beginning of a sentence as it begins. */
export function inWords(text: string, naming: Naming = ON_TERMINAL): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, name: string, at: number) => {
    const words = naming(name);
    return at === 0 || text.slice(at - 2, at) === '. ' ? upperFirst(words) : words;
  });
}

export function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export type StatusName = OutcomeStatus | 'stale' | 'invalid' | 'skipped' | 'fresh';

/** What became of a row: its name, what that means, and how good it is. */
export const STATUSES: Readonly<
  Record<StatusName, { readonly name: string; readonly means: string; readonly tone: Tone }>
> = {
  found: { name: 'found', means: 'enriched', tone: 'good' },
  stale: { name: 'stale', means: 'not learned this time; an older answer stays', tone: 'warning' },
  fresh: { name: 'known before', means: 'needs no call', tone: 'good' },
  not_found: { name: 'not found', means: 'the API does not know the domain', tone: 'quiet' },
  rejected: { name: 'rejected', means: 'the API refused the domain', tone: 'bad' },
  failed: { name: 'failed', means: 'no usable answer, however often it was tried', tone: 'bad' },
  pending: { name: 'pending', means: 'accepted by the API, no answer ready yet', tone: 'warning' },
  invalid: { name: 'invalid', means: 'no domain in the row; nothing was asked', tone: 'quiet' },
  skipped: { name: 'skipped', means: 'not asked; the run stopped first', tone: 'quiet' },
};

type Tone = 'good' | 'quiet' | 'warning' | 'bad';

export const PHASES = {
  reading: 'Reading the list',
  looking_up: 'Looking up',
  saving_logos: 'Saving logos',
  stopping: 'Stopping',
  writing: 'Writing the files',
  ended: 'Ended',
  lost: 'Lost: its process is gone',
} as const;

/** How a run ended; its first sentence begins so. */
export const ENDINGS = {
  done: 'Done',
  some_failed: 'Done',
  nothing_found: 'Done, but nothing was found',
  stopped: 'Stopped early',
  interrupted: 'Interrupted',
  error: 'Ended with an error',
} as const;

/** What keeps calls from starting. */
export function describeWait({ why, leftMs = 0, text = 'The API is out' }: Wait): string {
  return {
    paused: 'Paused: no new call starts until it is resumed',
    no_worker: 'No worker is there to make the lookups',
    outage: text,
    backing_off: 'The API refuses calls for now (429, 402 and the like): backing off',
    stated: `The API says to wait: calls go on in ${formatDuration(leftMs)}`,
    rate: `Held to the rate: next call in ${formatDuration(leftMs)}`,
    pending: `Only pending domains are left: all are asked again within ${formatDuration(leftMs)}`,
  }[why];
}

/** Why a run or a worker stops. */
export const STOPS: Readonly<Record<StopReason, string>> = {
  unauthorized: 'The API refused the credential (401): check {credential}.',
  forbidden:
    'The API answered 403 five times in a row: check {credential} and what the credential is allowed.',
  quota: 'The quota of the API is used up.',
  outage: 'The API has been out for longer than {maxOutage}.',
  refused:
    'The API gave five different domains the same refusal or answer, with no other between: it is about the calls, not the domains, and nothing of it is kept. Check {credential}, the plan of the account, {param} and {baseUrl}; {maxFailed} 100% takes the API at its word.',
  misdirected: 'Nothing of the first calls is kept, and the outputs stay as they were.',
  max_failed: 'More lookups failed than {maxFailed} allows: look at the reasons.',
  sampled: 'The sample is looked up.',
  max_calls: 'All calls of {maxCalls} are made.',
  max_cost: 'The next answer could cost more than {maxCost} leaves.',
  max_calls_per: 'All calls of {maxCallsPer} are made, by this run and others together.',
  unusable_store: 'The answers that came since then go to the outputs alone.',
  interrupted:
    'Interrupted: no further call is made, calls in flight get 10 s. Interrupt again to end at once.',
  error: 'Stopped by an error.',
};

const ONCE_FIXED = 'What was found before is kept: once that is fixed, {again}.';

/** How a run that was stopped goes on. @default what was found is kept, and the rest can be asked */
export const GOING_ON: Readonly<Partial<Record<StopReason, string>>> = {
  sampled: 'The same command without {sample} asks about the others; nothing is paid twice.',
  misdirected: 'Once that is fixed, {again}.',
  unauthorized: ONCE_FIXED,
  forbidden: ONCE_FIXED,
  refused: ONCE_FIXED,
  unusable_store: 'What could not be stored is in the outputs alone: keep them. {again}{toGoOn}.',
};
