import { BrandfillError } from '../common/errors.ts';
import { createJob } from '../options/api.ts';
import { TRY_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/declaration.ts';
import { checkOptions, libraryNaming, type OptionKinds } from '../options/read-options.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain-reader.ts';
import { createContext } from '../run/run-context.ts';
import { runToTrial, TRIAL_COLUMN, type Trial } from '../run/trial.ts';
import type { RunEvent } from '../watch/events.ts';

/** Options of a trial. Durations are texts such as `'30d'`, or milliseconds. */
export interface TryOptions extends OptionsOf<typeof TRY_OPTIONS>, BesideSettings {}

interface BesideSettings {
  /** Anything that a row's cell may hold: a domain, a URL, an e-mail address. */
  readonly domain: string;
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** Ends the trial. */
  readonly signal?: AbortSignal | undefined;
  /** Called as it goes on. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
}

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
export async function tryDomain(
  options: TryOptions,
  naming: (key: string) => string = libraryNaming,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Trial> {
  const known = { declared: TRY_OPTIONS, others: OTHERS };
  checkOptions(options, { of: 'tryDomain', ...known, describe: naming });
  const { domain: text, apiKey, signal, onEvent } = options;
  const domain = readDomain(text, options);
  const job = createJob({
    given: { ...options, domainColumn: TRIAL_COLUMN },
    others: TRY_OPTIONS,
    apiKey,
    // One call needs no queue, and is about one API.
    env: { ...env, BRANDFILL_QUEUE: undefined, BRANDFILL_THEN: undefined },
    describe: naming,
  });
  const { context, throwIfFailed } = createContext({ signal, onEvent });
  const trial = await runToTrial(domain, job, { ...context, isTrial: true });
  throwIfFailed();
  return trial;
}

/** @throws BrandfillError `INVALID_SETTING` */
function readDomain(
  text: unknown,
  options: Pick<TryOptions, 'registrable' | 'keepFreeMail' | 'keepSharedHosts'>,
): string {
  const read = createDomainReader({ ...options, column: { name: 'domain' } });
  const found = read(typeof text === 'string' ? text : '');
  if ('domain' in found) return found.domain;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot look up '${shorten(String(text))}': there is no domain in it (${found.invalid}); expected one such as example.com.`,
  );
}

const OTHERS: OptionKinds<BesideSettings> = {
  domain: 'checkedElsewhere',
  apiKey: 'text',
  signal: 'signal',
  onEvent: 'function',
};
