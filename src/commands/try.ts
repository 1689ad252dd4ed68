import { BrandfillError } from '../common/errors.ts';
import { createJob } from '../options/api.ts';
import { type TRY_FLAGS, TRY_OPTIONS } from '../options/command-options.ts';
import { callback, secret, signal, someText } from '../options/kinds.ts';
import {
  libraryNaming,
  metaOf,
  type OptionsOf,
  type SettingsOf,
  type Sources,
} from '../options/option.ts';
import { flagOrArgument } from '../options/options.ts';
import { formatPreset } from '../options/preset.ts';
import { shorten } from '../rows/columns/names.ts';
import { createDomainReader } from '../rows/domain/domain-reader.ts';
import { createContext } from '../run/run-context.ts';
import { runToTrial, TRIAL_COLUMN, type Trial } from '../run/trial.ts';
import type { RunEvent } from '../watch/events.ts';
import { createStatusCounts, exitCodeOf } from '../watch/summary.ts';
import { print, type RunCommand, say, untilInterrupted } from './command.ts';

const TRY = {
  ...TRY_OPTIONS,
  /** Anything that a row's cell may hold: a domain, a URL, an e-mail address. */
  domain: someText,
  /** The credential. @default BRANDFILL_API_KEY */
  apiKey: secret(),
  /** Ends the trial. */
  signal: signal(),
  /** Called as it goes on. */
  onEvent: callback<(event: RunEvent) => void>(),
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
export async function tryDomain(
  options: TryOptions,
  describe: (key: string) => string = libraryNaming,
  env: Sources['env'] = process.env,
): Promise<Trial> {
  const { settings, ...job } = createJob({ given: options, env, describe }, 'tryDomain', TRY);
  const domain = readDomain(options.domain, options);
  const { context, throwIfFailed } = createContext(options);
  const ofTrial = { ...job, settings: { ...settings, domainColumn: TRIAL_COLUMN } };
  const trial = await runToTrial(domain, ofTrial, { ...context, isTrial: true });
  throwIfFailed();
  return trial;
}

/** @throws BrandfillError `INVALID_SETTING` */
function readDomain(text: string, { registrable }: Pick<TryOptions, 'registrable'>): string {
  const found = createDomainReader({ registrable, column: { name: 'domain' } })(text);
  if ('domain' in found) return found.domain;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot look up '${shorten(text)}': there is no domain in it (${found.invalid}); expected one such as example.com.`,
  );
}

/** `brandfill try` */
export const runTry: RunCommand<typeof TRY_FLAGS> = async (call) => {
  const { words, options, flags, context } = call;
  const [domain = ''] = words;
  return await untilInterrupted(context.endAtOnce, async (signal) => {
    const onEvent = createReporter();
    const trial = await tryDomain({ ...options, domain, signal, onEvent }, flagOrArgument);
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
