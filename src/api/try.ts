import { refusal } from '../common/errors.ts';
import { given, plainText, someText } from '../options/kinds.ts';
import { type OptionsOf, pick, varied } from '../options/option.ts';
import { API_OPTIONS, OPTIONS } from '../options/options.ts';
import { createJob, type Job } from '../profile/job.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain.ts';
import { type CallerOptions, createContext } from '../run/run-context.ts';
import { runToTrial, TRIAL_COLUMN, type Trial } from '../run/trial.ts';
import type { RunEvent } from '../watch/events.ts';

/** What can be said of a trial: some options of a run, two of them otherwise. */
export const TRY_OPTIONS = {
  ...API_OPTIONS,
  ...pick(OPTIONS, 'fields', 'timeout', 'store'),
  retries: varied(OPTIONS.retries, { default: '2' }),
  refresh: varied(OPTIONS.refresh, {
    help: 'look the domain up again, however fresh the answer in the store is',
  }),
};

const TRY = {
  ...TRY_OPTIONS,
  /** Anything that a row's cell may hold: a domain, a URL, an e-mail address. */
  domain: someText,
  /** The credential. @default BRANDFILL_API_KEY */
  apiKey: plainText(),
  /** Ends the trial. */
  signal: given<AbortSignal>(),
  /** Called as it goes on. */
  onEvent: given<(event: RunEvent) => void>(),
};

/** Options of a trial. Durations are texts such as `'30d'`, or milliseconds. */
export interface TryOptions extends OptionsOf<typeof TRY> {}

/**
 * Looks one domain up, and returns its outcome and the columns made from its answer. It does what a
 * run of a list with this one row does: a fresh answer in the store is not paid for again, and a
 * new one is stored. Because a person is waiting, it retries twice rather than five times, and
 * waits ten seconds at most when the API asks for it. An answer that looks like that of a wrong
 * address is not stored.
 *
 * @throws BrandfillError `INVALID_SETTING` when there is no domain in the text, and as `enrich`;
 *   the error that `onEvent` threw
 *
 * @example
 * ```ts
 * const { status, columns } = await tryDomain({ domain: 'example.com', baseUrl });
 * for (const { name, expression, value } of columns) console.log(name, expression, value);
 * ```
 */
export async function tryDomain(options: TryOptions): Promise<Trial> {
  const job = createJob({ given: options }, 'tryDomain', TRY);
  return await tryJob(options.domain, job, options);
}

/** Somebody is waiting. */
const MAX_WAIT_MS = 10_000;

/** Does the same with options that are read. */
export async function tryJob(text: string, job: Job, caller: CallerOptions): Promise<Trial> {
  const domain = readDomain(text);
  const { context, throwIfFailed } = createContext(caller);
  const settings = { ...job.settings, maxWait: MAX_WAIT_MS, domainColumn: TRIAL_COLUMN };
  const ofTrial = { ...job, settings };
  const trial = await runToTrial(domain, ofTrial, context);
  throwIfFailed();
  return trial;
}

/** @throws BrandfillError `INVALID_SETTING` */
function readDomain(text: string): string {
  const found = createDomainReader({ column: { name: 'domain' } })(text);
  if ('domain' in found) return found.domain;
  throw refusal(
    `Cannot look up '${shorten(text)}': there is no domain in it (${found.invalid}); expected one such as example.com.`,
  );
}
