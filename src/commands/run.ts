import { existsSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import { BrandfillError, describeError, exitCodeOfError } from '../common/errors.ts';
import { isSameFile, makeFolder, othersWhoCanChange } from '../common/files.ts';
import { createCallbackGuard } from '../common/lifetime.ts';
import { keepSecret, withoutSecrets } from '../common/secrets.ts';
import { describeKind } from '../common/text.ts';
import { readSecret } from '../options/api.ts';
import type { RUN_FLAGS } from '../options/command-options.ts';
import type { Schedule } from '../options/cron.ts';
import { besideFile, type JobFile, type OnFinish, readJobFile } from '../options/job-file.ts';
import { metaOf } from '../options/option.ts';
import { flagOf, nameOf, OPTIONS, type OptionKey } from '../options/options.ts';
import {
  checkOptions,
  libraryNaming,
  type OptionKinds,
  overriddenBy,
} from '../options/read-options.ts';
import type { Environment } from '../options/variables.ts';
import type { RunSurroundings } from '../page/show-run.ts';
import { exitCodeOf, type Summary } from '../watch/summary.ts';
import type { RunCommand } from './command.ts';
import { BESIDE_SETTINGS, type EnrichOptions, enrich, plan } from './enrich.ts';
import { type FinishedRun, notify } from './on-finish.ts';
import { refuseRowsBesideJson, watchRun } from './watch-run.ts';

export interface RunJobOptions
  extends LoadJobOptions,
    Pick<EnrichOptions, 'signal' | 'runId' | 'onEvent' | 'confirm'> {
  /** Called when the file is read, before anything else is done. May throw to refuse it. */
  readonly onLoaded?: ((job: LoadedJob) => void) | undefined;
  /** Called when the files are written, before the end is reported to `onFinish`. */
  readonly onSummary?: ((summary: Summary) => void) | undefined;
}

/** The surroundings of a job's run. */
export interface JobSurroundings extends RunSurroundings {
  /**
   * Whether the run is retried after an error, which is then not reported. @default never
   */
  readonly isTriedAgain?: (error: unknown) => boolean;
}

/** How a job ended. */
export interface JobEnd {
  readonly summary: Summary;
  /**
   * The exit code of `brandfill run`: 0 done, 3 some rows failed or nothing was found, 4 stopped early, 130 interrupted.
   */
  readonly exitCode: number;
}

/**
 * Runs a job file as `brandfill run` does, and reports the end to everyone named by its `onFinish`,
 * whether it went well or not. A failed report never throws, but becomes a notice among the events.
 *
 * @throws BrandfillError when the file, an option, the input or an output cannot be used; the error
 *   that a callback threw. The end is reported before.
 *
 * @example
 * ```ts
 * const { summary, exitCode } = await runJob('jobs/nightly-crm.yaml');
 * ```
 */
export async function runJob(
  file: string,
  options: RunJobOptions = {},
  { isTriedAgain = () => false, ...around }: JobSurroundings = {},
): Promise<JobEnd> {
  checkOptions(options, {
    of: 'runJob',
    declared: {},
    others: RUN_OPTIONS,
    describe: libraryNaming,
  });
  const { now = () => new Date(), runId, onEvent, onLoaded, onSummary } = options;
  const startedAt = now();
  const callbackGuard = createCallbackGuard([]);
  const onNotice = callbackGuard.guard((message: string) => onEvent?.({ type: 'notice', message }));
  const jobFile = await openJobFile(file, { ...options, now: () => startedAt });
  const distrust = distrustOf(file);
  if (distrust !== undefined) onNotice(distrust);
  const finish = async (
    end: Pick<FinishedRun, 'exitCode' | 'summary' | 'error'>,
  ): Promise<void> => {
    const run = { job: jobNameOf(file), file, runId, startedAt, finishedAt: now(), ...end };
    await notifyOf(jobFile, run, { ...options, onNotice });
  };
  let jobEnd: JobEnd;
  try {
    const job = toLoadedJob(jobFile, options);
    onLoaded?.(job);
    makeFolders(jobFile);
    const { signal, confirm } = options;
    const context = {
      ...(signal && { signal }),
      ...(runId && { runId }),
      ...(onEvent && { onEvent }),
      ...(confirm && { confirm }),
    };
    const surroundings = { name: job.name, ...around };
    const summary = await enrich({ ...job.options, ...context }, job.naming, surroundings);
    onSummary?.(summary);
    jobEnd = { summary, exitCode: exitCodeOf(summary) };
  } catch (error) {
    if (!isTriedAgain(error)) {
      await finish({ exitCode: exitCodeOfError(error), error: describeError(error) });
    }
    throw error;
  }
  await finish(jobEnd);
  callbackGuard.throwIfFailed();
  return jobEnd;
}

/** Creates the folders of outputs that the file names, such as one for each day. */
function makeFolders({ values }: JobFile): void {
  for (const key of OUTPUTS) {
    const given = (values as Readonly<Record<string, unknown>>)[key];
    for (const path of [given].flat()) {
      if (typeof path !== 'string' || path === '-') continue;
      try {
        makeFolder(dirname(path));
      } catch {
        // The error is reported when the output is opened.
      }
    }
  }
}

async function notifyOf(
  { values }: JobFile,
  run: FinishedRun,
  {
    env = process.env,
    overrides,
    onNotice,
    signal,
  }: RunJobOptions & { readonly onNotice: (message: string) => void },
): Promise<void> {
  const { onFinish, apiKeyEnv = 'BRANDFILL_API_KEY', apiKeyFile } = values;
  if (onFinish === undefined) return;
  const keyFile =
    overrides?.apiKeyFile ?? (typeof apiKeyFile === 'string' ? apiKeyFile : undefined);
  const secret = overrides?.apiKey ?? findSecret(keyFile, env[apiKeyEnv]);
  keepSecret(secret);
  await notify(onFinish, run, {
    env,
    signal,
    redact: withoutSecrets,
    onNotice,
  });
}

function findSecret(file: string | undefined, fromEnv: string | undefined): string | undefined {
  try {
    return readSecret(file, fromEnv);
  } catch {
    return undefined; // the run could not use it either
  }
}

export interface LoadJobOptions {
  /** Options that override the file. Paths in them are relative to the current folder. */
  readonly overrides?: Partial<EnrichOptions> | undefined;
  /** The source of variables, of `apiKeyEnv` and of `BRANDFILL_STORE`. @default process.env */
  readonly env?: Environment | undefined;
  /** The clock behind `{date}` and `{time}`. */
  readonly now?: (() => Date) | undefined;
  /** The name of an override in messages. The command line uses `--base-url`. */
  readonly naming?: ((key: string) => string) | undefined;
}

/** The options whose files a run writes anew. */
const OUTPUTS = (Object.keys(OPTIONS) as OptionKey[]).filter(
  (key) => metaOf(OPTIONS[key]).isOutput,
);

/** A job file with everything that a run needs. */
export interface LoadedJob {
  readonly file: string;
  /** The name of the file without its folder and ending. */
  readonly name: string;
  /** The options for `enrich`. Paths are relative to the current folder. */
  readonly options: EnrichOptions;
  readonly schedule: Schedule | undefined;
  readonly onFinish: OnFinish | undefined;
  /** The name of an option in messages. */
  readonly naming: (key: string) => string;
}

/**
 * Reads a job file. Options that it does not set come from the environment, else from the defaults.
 * The exception is the store, which is `.brandfill` in the folder of the file.
 *
 * @throws BrandfillError `INVALID_SETTING` with line, column and what was expected, for every error
 *
 * @example
 * ```ts
 * const { options } = await loadJob('jobs/nightly-crm.yaml');
 * const summary = await enrich({ ...options, maxCalls: 100 });
 * ```
 */
export async function loadJob(file: string, options: LoadJobOptions = {}): Promise<LoadedJob> {
  checkOptions(options, {
    of: 'loadJob',
    declared: {},
    others: LOAD_OPTIONS,
    describe: libraryNaming,
  });
  return toLoadedJob(await openJobFile(file, options), options);
}

const LOAD_OPTIONS: OptionKinds<LoadJobOptions> = {
  overrides: 'object',
  env: 'object',
  now: 'function',
  naming: 'function',
};

const RUN_OPTIONS: OptionKinds<RunJobOptions> = {
  ...LOAD_OPTIONS,
  signal: 'signal',
  runId: 'text',
  onEvent: 'function',
  confirm: 'function',
  onLoaded: 'function',
  onSummary: 'function',
};

/** Reads a job file as far as possible. An error is part of the result. */
export async function openJobFile(
  file: string,
  { env = process.env, now = () => new Date() }: LoadJobOptions,
): Promise<JobFile> {
  if (typeof file !== 'string') {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot read a job file: expected its path as a text, received ${describeKind(file)}.`,
    );
  }
  return await readJobFile(file, { env, now: now() });
}

/** Who writes a job file says where the credential is sent and which commands are run. */
function distrustOf(file: string): string | undefined {
  const others = othersWhoCanChange(file);
  return (
    others &&
    `A job file runs commands and sends the credential, as ${file} says, and ${others}: read it before you run it, and keep it to yourself (chmod go-w).`
  );
}

/** The name of a job: its file name without folder and extension. */
export function jobNameOf(file: string): string {
  return basename(file, extname(file));
}

/** @throws BrandfillError `INVALID_SETTING` */
function toLoadedJob(jobFile: JobFile, options: LoadJobOptions): LoadedJob {
  const { file, values, error } = jobFile;
  const { env = process.env, naming = libraryNaming } = options;
  const overrides = withoutUndefined(options.overrides ?? {});
  // The list is in the file, as a rule.
  const others = { ...BESIDE_SETTINGS, input: 'checkedElsewhere' } as const;
  const known = { declared: OPTIONS, others };
  checkOptions(overrides, { of: 'enrich', ...known, describe: naming });
  if (error) throw error;
  const { apiKeyEnv: _, schedule, onFinish, ...inFile } = values;
  const overridden = overriddenBy(overrides);
  const settings: typeof inFile = Object.fromEntries(
    Object.entries(inFile).filter(([key]) => !overridden.has(key)),
  );
  const store = env['BRANDFILL_STORE'] || besideFile(file, '.brandfill');
  const given = {
    store,
    // The path of the changes file may hold a date, and differ each night.
    changesId: settings.changes === undefined ? undefined : resolve(file),
    ...withoutUndefined(settings),
    ...credentialOf(jobFile, overrides, env),
    ...(overrides.changes === undefined ? {} : { changesId: undefined }),
    ...overrides,
  };
  const { input } = given as { input?: EnrichOptions['input'] };
  if (input === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot run ${file}: it names no list; give 'input' in it, or ${naming('input')}.`,
    );
  }
  refuseItself(file, given);
  return {
    file,
    name: jobNameOf(file),
    options: { ...(withoutUndefined(given) as Partial<EnrichOptions>), input },
    schedule,
    onFinish,
    naming: (key) =>
      key in overrides ? naming(key) : `'${nameOf(key)}' in ${jobFile.placeOf(key) ?? file}`,
  };
}

/** The credential as the file names it, unless it is overridden. */
function credentialOf(
  jobFile: JobFile,
  overrides: Partial<EnrichOptions>,
  env: Environment,
): Pick<EnrichOptions, 'apiKey' | 'apiKeyFile'> {
  const { apiKeyEnv, apiKeyFile } = jobFile.values;
  const { api, apiKey: typed, apiKeyFile: typedFile } = overrides;
  if ((api ?? typed ?? typedFile) !== undefined) return {};
  if (apiKeyEnv !== undefined && apiKeyFile !== undefined) {
    throw refuse(jobFile.placeOf('apiKeyEnv'), "'apiKeyFile' is given too; leave one of them out");
  }
  if (apiKeyEnv !== undefined) {
    const apiKey = env[apiKeyEnv]?.trim();
    if (apiKey) return { apiKey };
    // Neither the name nor the path is repeated, because it may be the credential in the wrong
    // place.
    throw refuse(
      jobFile.placeOf('apiKeyEnv'),
      'the environment has no such variable, or it is empty',
    );
  }
  if (typeof apiKeyFile === 'string' && !existsSync(apiKeyFile)) {
    throw refuse(jobFile.placeOf('apiKeyFile'), 'there is no such file');
  }
  return {};
}

function refuse(place: string | undefined, what: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', `Cannot use the credential of ${place}: ${what}.`);
}

/** @throws BrandfillError `INVALID_SETTING` when an output would replace the job file */
function refuseItself(file: string, given: Readonly<Record<string, unknown>>): void {
  for (const path of OUTPUTS.flatMap((key) => given[key])) {
    if (typeof path !== 'string' || !leadToOne(path, file)) continue;
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot write ${path}: it is the job file itself; choose another output.`,
    );
  }
}

/** Whether two paths lead to one file, also through links. */
function leadToOne(one: string, other: string): boolean {
  return resolve(one) === resolve(other) || isSameFile(findFile(one), findFile(other));
}

function findFile(path: string): Stats | undefined {
  try {
    const found = statSync(path);
    return found.isFile() ? found : undefined; // a terminal may be both read and written
  } catch {
    return undefined;
  }
}

/** The members of an object that have a value. A member that is undefined counts as not given. */
function withoutUndefined<T extends object>(values: T): Partial<T> {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given) as Partial<T>;
}

/** `brandfill run` */
export const runFile: RunCommand<typeof RUN_FLAGS> = async ({ words, options, ...call }) => {
  const [file = ''] = words;
  const loading = { overrides: options, naming: flagOf };
  const onLoaded = ({ options: loaded }: LoadedJob): void =>
    refuseRowsBesideJson(loaded, call.flags);
  return await watchRun(
    {
      plan: async (watch) => {
        const { options: loaded, naming } = await loadJob(file, loading);
        return await plan({ ...loaded, ...watch }, naming);
      },
      run: (watch, onSummary, around) =>
        runJob(file, { ...loading, ...watch, onSummary, onLoaded }, around),
    },
    call,
  );
};
