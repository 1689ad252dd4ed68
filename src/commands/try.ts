import { BrandfillError } from '../common/errors.ts';
import { createJob } from '../options/api.ts';
import { type TRY_FLAGS, TRY_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf, SettingsOf } from '../options/option.ts';
import { metaOf } from '../options/option.ts';
import { flagOf } from '../options/options.ts';
import { checkOptions, libraryNaming, type OptionKinds } from '../options/read-options.ts';
import { formatPreset } from '../options/yaml-files.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain-reader.ts';
import { createContext } from '../run/run-context.ts';
import { runToTrial, TRIAL_COLUMN, type Trial } from '../run/trial.ts';
import type { RunEvent } from '../watch/events.ts';
import { createStatusCounts, exitCodeOf } from '../watch/summary.ts';
import { print, type RunCommand, say, untilInterrupted } from './command.ts';

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
function readDomain(text: unknown, options: Pick<TryOptions, 'registrable'>): string {
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

/** `brandfill try` */
export const runTry: RunCommand<typeof TRY_FLAGS> = async (call) => {
  const { words, options, flags, context } = call;
  const [domain = ''] = words;
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const onEvent = createReporter();
    const trial = await tryDomain({ ...options, domain, signal, onEvent }, flagOf);
    await show(trial, options, { text: domain, ...flags });
    const { stopped, status } = trial;
    return exitCodeOf({ stopped, statuses: { ...createStatusCounts(), [status]: 1 } });
  });
};

async function show(
  trial: Trial,
  { fields, prefix = metaOf(TRY_OPTIONS.prefix).default }: Partial<TryOptions>,
  flags: SettingsOf<typeof TRY_FLAGS> & { readonly text: string },
): Promise<void> {
  const { json = false, preset = false, explain = false, text } = flags;
  const { describeAnswers, describeEnd, describeTrial } = await import(
    '../watch/describe-trial.ts'
  );
  const described = { text, explain, hasFields: fields !== undefined, prefix, nowMs: Date.now() };
  if (explain && !json) describeAnswers(trial).forEach((line) => say(line));
  if (preset || (json && !trial.answer)) {
    describeEnd(trial, described).forEach((line) => say(line));
  }
  if (preset) {
    if (trial.answer) process.stdout.write(formatPreset(trial, prefix ?? ''));
  } else if (json) print(JSON.stringify(trial));
  else process.stdout.write(`${describeTrial(trial, described).join('\n')}\n`);
}

/** Reports the events that are worth knowing while somebody waits. */
function createReporter(): (event: RunEvent) => void {
  let isQuiet = false;
  return (event) => {
    if (event.type === 'notice') say(`Note: ${event.message}`);
    if (event.type === 'stopping') isQuiet = true;
    if (event.type !== 'progress' || isQuiet || event.throttled === 0) return;
    isQuiet = true;
    say(
      'Note: The API throttles calls (429 and the like): waiting until it lets calls through again.',
    );
  };
}
