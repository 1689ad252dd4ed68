import { existsSync } from 'node:fs';
import { basename, dirname, extname, resolve } from 'node:path';
import type { Plan } from '../collector/plan.ts';
import { BrandfillError, describeError, exitCodeOfError } from '../common/errors.ts';
import { makeFolder, othersWhoCanChange } from '../common/files.ts';
import { createCallbackGuard } from '../common/lifetime.ts';
import { keepSecret, withoutSecrets } from '../common/secrets.ts';
import type { RUN_FLAGS } from '../options/command-options.ts';
import {
  besideFile,
  type Environment,
  type JobFile,
  type OnFinish,
  readJobFile,
  type Schedule,
} from '../options/job-file.ts';
import { callback, object, secret, signal } from '../options/kinds.ts';
import { libraryNaming, metaOf, type OptionsOf, readOptions } from '../options/option.ts';
import { flagOf, OPTIONS, type OptionKey } from '../options/options.ts';
import type { RunSurroundings } from '../page/show-run.ts';
import type { RunEvent } from '../watch/events.ts';
import { exitCodeOf, type Summary } from '../watch/summary.ts';
import type { RunCommand } from './command.ts';
import { ENRICH, type EnrichOptions, enrich, plan } from './enrich.ts';
import { type FinishedRun, notify } from './on-finish.ts';
import { refuseRowsBesideJson, watchRun } from './watch-run.ts';

const LOAD = {
  /** Options that override the file. Paths in them are relative to the current folder. */
  overrides: object<Partial<EnrichOptions>>(),
  /** The source of variables, of `apiKeyEnv` and of `BRANDFILL_STORE`. @default process.env */
  env: object<Environment>(),
  /** The clock behind `{date}` and `{time}`. */
  now: callback<() => Date>(),
  /** The name of an override in messages. The command line uses `--base-url`. */
  naming: callback<(key: string) => string>(),
};

export interface LoadJobOptions extends OptionsOf<typeof LOAD> {}

const RUN_JOB = {
  ...LOAD,
  /** As of `enrich`, all four. */
  signal: signal(),
  runId: secret(),
  onEvent: callback<(event: RunEvent) => void>(),
  confirm: callback<(plan: Plan) => Promise<boolean>>(),
  /** Called when the file is read, before anything else is done. May throw to refuse it. */
  onLoaded: callback<(job: LoadedJob) => void>(),
  /** Called when the files are written, before the end is reported to `onFinish`. */
  onSummary: callback<(summary: Summary) => void>(),
};

export interface RunJobOptions extends OptionsOf<typeof RUN_JOB> {}

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
  given: RunJobOptions = {},
  around: RunSurroundings = {},
): Promise<JobEnd> {
  const options = readOptions('runJob', RUN_JOB, { given });
  const { now = () => new Date(), env = process.env } = options;
  const { runId, onEvent, signal, confirm, onLoaded, onSummary } = options;
  const startedAt = now();
  const callbackGuard = createCallbackGuard([]);
  const onNotice = callbackGuard.guard((message: string) => onEvent?.({ type: 'notice', message }));
  const jobFile = readJobFile(file, { env, now: startedAt });
  // Who writes a job file says where the credential is sent and which commands are run.
  const others = othersWhoCanChange(file);
  if (others !== undefined) {
    onNotice(
      `A job file runs commands and sends the credential, as ${file} says, and ${others}: read it before you run it, and keep it to yourself (chmod go-w).`,
    );
  }
  const finish = async (
    end: Pick<FinishedRun, 'exitCode' | 'summary' | 'error'>,
  ): Promise<void> => {
    if (jobFile.onFinish === undefined) return;
    const run = { job: jobNameOf(file), file, runId, startedAt, finishedAt: now(), ...end };
    await notify(jobFile.onFinish, run, { env, signal, redact: withoutSecrets, onNotice });
  };
  let jobEnd: JobEnd;
  try {
    const job = toLoadedJob(jobFile, options);
    onLoaded?.(job);
    makeFolders(jobFile);
    const context = { signal, runId, onEvent, confirm };
    const surroundings = { name: job.name, ...around };
    const summary = await enrich({ ...job.options, ...context }, job.naming, surroundings);
    onSummary?.(summary);
    jobEnd = { summary, exitCode: exitCodeOf(summary) };
  } catch (error) {
    await finish({ exitCode: exitCodeOfError(error), error: describeError(error) });
    throw error;
  }
  await finish(jobEnd);
  callbackGuard.throwIfFailed();
  return jobEnd;
}

/** The options whose files a run writes anew. */
const OUTPUTS = (Object.keys(OPTIONS) as OptionKey[]).filter(
  (key) => metaOf(OPTIONS[key]).isOutput,
);

/** Creates the folders of outputs that the file names, such as one for each day. */
function makeFolders({ options }: JobFile): void {
  for (const path of OUTPUTS.flatMap((key) => options[key])) {
    if (typeof path !== 'string' || path === '-') continue;
    try {
      makeFolder(dirname(path));
    } catch {
      // The error is reported when the output is opened.
    }
  }
}

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
export async function loadJob(file: string, given: LoadJobOptions = {}): Promise<LoadedJob> {
  const options = readOptions('loadJob', LOAD, { given });
  const { env = process.env, now = () => new Date() } = options;
  return toLoadedJob(readJobFile(file, { env, now: now() }), options);
}

/** The name of a job: its file name without folder and extension. */
export function jobNameOf(file: string): string {
  return basename(file, extname(file));
}

/** The list is in the file, as a rule. */
const OVERRIDES = { ...ENRICH, input: ENRICH.input.optional() };

/** @throws BrandfillError `INVALID_SETTING` */
function toLoadedJob(jobFile: JobFile, loading: LoadJobOptions): LoadedJob {
  const { file, options, error } = jobFile;
  const { env = process.env, naming = libraryNaming, overrides: typed = {} } = loading;
  readOptions('enrich', OVERRIDES, { given: typed, env: {}, describe: naming });
  if (error) throw error;
  const overrides: Partial<EnrichOptions> = Object.fromEntries(
    Object.entries(typed).filter(([, value]) => value !== undefined),
  );
  // Another API is another host, which must not get what the file has for its own.
  const { baseUrl, auth, apiKeyFile, params, headers, ...ofAnyApi } = options;
  const given = {
    store: env['BRANDFILL_STORE'] || besideFile(file, '.brandfill'),
    // The path of the changes file may hold a date, and differ each night.
    changesId:
      options.changes === undefined || overrides.changes !== undefined ? undefined : resolve(file),
    ...(overrides.api === undefined ? options : ofAnyApi),
    apiKey: credentialOf(jobFile, overrides, env),
    ...overrides,
  };
  const { input } = given;
  if (input === undefined) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot run ${file}: it names no list; give 'input' in it, or ${naming('input')}.`,
    );
  }
  return {
    file,
    name: jobNameOf(file),
    options: { ...given, input },
    schedule: jobFile.schedule,
    onFinish: jobFile.onFinish,
    naming: (key) =>
      key in overrides ? naming(key) : `'${key}' in ${jobFile.placeOf(key) ?? file}`,
  };
}

/** The credential as the file names it, unless it is overridden. */
function credentialOf(
  { apiKeyEnv, options: { apiKeyFile }, ...jobFile }: JobFile,
  overrides: Partial<EnrichOptions>,
  env: Environment,
): string | undefined {
  const fromEnv = apiKeyEnv === undefined ? undefined : env[apiKeyEnv]?.trim();
  keepSecret(fromEnv);
  const { api, apiKey, apiKeyFile: typedFile } = overrides;
  if ((api ?? apiKey ?? typedFile) !== undefined) return undefined;
  // Neither the name nor the path is repeated, because it may be the credential in the wrong place.
  const wrong = ((): readonly [key: string, why: string] | undefined => {
    if (apiKeyEnv !== undefined && apiKeyFile !== undefined)
      return ['apiKeyEnv', "'apiKeyFile' is given too; leave one of them out"];
    if (apiKeyEnv !== undefined && !fromEnv)
      return ['apiKeyEnv', 'the environment has no such variable, or it is empty'];
    if (apiKeyFile !== undefined && !existsSync(apiKeyFile))
      return ['apiKeyFile', 'there is no such file'];
    return undefined;
  })();
  if (wrong === undefined) return fromEnv;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use the credential of ${jobFile.placeOf(wrong[0])}: ${wrong[1]}.`,
  );
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
