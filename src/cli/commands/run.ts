import { basename, dirname, extname, resolve } from 'node:path';
import { type EnrichOptions, enrichJob, planJob } from '../../api/enrich.ts';
import { BrandfillError, describeError, exitCodeOfError, refusal } from '../../common/errors.ts';
import { makeFolder, othersWhoCanChange } from '../../common/files.ts';
import { withoutSecrets } from '../../common/secrets.ts';
import { besideFile, type JobFile, readJobFile } from '../../options/job-file.ts';
import { file as listFile } from '../../options/kinds.ts';
import { nameOptions, option, under, varied } from '../../options/option.ts';
import { API_OPTIONS, flagOf, OPTIONS, type Settings } from '../../options/options.ts';
import type { RunSurroundings } from '../../page/show-run.ts';
import { createJob } from '../../profile/job.ts';
import type { CallerOptions } from '../../run/run-context.ts';
import { endingOf } from '../../watch/describe.ts';
import type { RunView } from '../../watch/run-view.ts';
import { defineCommand } from './command.ts';
import { type FinishedRun, notify } from './on-finish.ts';
import { refuseRowsBesideJson, START_OPTIONS, watchRun } from './watch-run.ts';

// How a run of a job file is made, for `brandfill run` and `brandfill schedule`.

export interface RunJobOptions extends CallerOptions {
  /** Options that override the file. Paths in them are relative to the current folder. */
  readonly overrides?: Partial<EnrichOptions> | undefined;
  /** The clock behind `{date}` and `{time}`. */
  readonly now?: (() => Date) | undefined;
  /** Called when the file is read, before anything else is done. May throw to refuse it. */
  readonly onLoaded?: ((job: LoadedJob) => void) | undefined;
  /** Called when the files are written, before the end is reported to `onFinish`. */
  readonly onSummary?: ((summary: RunView) => void) | undefined;
}

/**
 * Makes the run of a job file, and reports the end to its `onFinish`, whether it went well or not.
 * A failed report never throws, but becomes a notice among the events.
 *
 * @throws BrandfillError when the file, an option, the input or an output cannot be used. The end
 *   is reported before
 */
export async function runJob(
  file: string,
  { onLoaded, onSummary, overrides = {}, now = () => new Date(), ...caller }: RunJobOptions = {},
  around: RunSurroundings = {},
): Promise<{ readonly summary: RunView; readonly exitCode: number }> {
  const { env } = process;
  const { runId, onEvent, signal } = caller;
  const [name, startedAt] = [jobNameOf(file), now()];
  const onNotice = (message: string): void => onEvent?.({ type: 'notice', message });
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
    const run = { job: name, file, runId, startedAt, finishedAt: now(), ...end };
    await notify(jobFile.onFinish, run, { env, signal, redact: withoutSecrets, onNotice });
  };
  try {
    const words = wordsOf(jobFile, overrides);
    const summary = await inWords(words, async () => {
      const loaded = toLoadedJob(jobFile, overrides);
      onLoaded?.(loaded);
      const { input, job, changesId } = loaded;
      makeFolders(job.settings);
      return await enrichJob(input, job, { ...caller, changesId }, { name, ...around, words });
    });
    onSummary?.(summary);
    const end = { summary, exitCode: endingOf(summary).exitCode };
    await finish(end);
    return end;
  } catch (error) {
    await finish({ exitCode: exitCodeOfError(error), error: describeError(error) });
    throw error;
  }
}

/** Makes the folders of outputs, such as one for each day. */
function makeFolders({ out, failures, changes, report = [] }: Settings): void {
  for (const path of [out, failures, changes, ...report]) {
    if (path === undefined || path === '-') continue;
    try {
      makeFolder(dirname(path));
    } catch {
      // The error is reported when the output is opened.
    }
  }
}

/** A job file with everything that a run needs. */
type LoadedJob = ReturnType<typeof toLoadedJob>;

/** The name of a job: its file name without folder and extension. */
export function jobNameOf(file: string): string {
  return basename(file, extname(file));
}

const OF_API = { ...API_OPTIONS, apiKeyEnv: undefined, sources: undefined };

/**
 * Options that a file does not set come from the environment, else from the defaults. The exception
 * is the store, which is `.brandfill` in the folder of the file.
 *
 * @throws BrandfillError `INVALID_SETTING` with line, column and what was expected, for every error
 */
function toLoadedJob(jobFile: JobFile, overrides: Partial<EnrichOptions>) {
  const { file, options, error } = jobFile;
  const { env } = process;
  if (error) throw error;
  // Another API is another host, which must not get what the file has for its own.
  const ofAnyApi = Object.fromEntries(
    Object.entries(options).filter(([key]) => !Object.hasOwn(OF_API, key)),
  );
  const { input, ...given } = {
    store: env['BRANDFILL_STORE'] || besideFile(file, '.brandfill'),
    ...(overrides.api === undefined ? options : ofAnyApi),
    ...overrides,
  };
  if (typeof input !== 'string') {
    throw refusal(
      `Cannot run ${file}: it names no list; give 'input' in it, or ${flagOf('input')}.`,
    );
  }
  const isOfFile = options.changes !== undefined && overrides.changes === undefined;
  return {
    input,
    job: createJob({ given, env }),
    /** The name of the changes file from run to run, whose path may hold a date. */
    changesId: isOfFile ? resolve(file) : undefined,
  };
}

type Words = (message: string) => string;

/**
 * What is said of an option: where it stands in the file, or its flag where that overrides the
 * file.
 */
function wordsOf({ placeOf, file }: JobFile, overrides: Partial<EnrichOptions>): Words {
  const nameOf = (key: string): string =>
    key in overrides ? flagOf(key) : `'${key}' in ${placeOf(key) ?? file}`;
  return (message) => nameOptions(message, nameOf);
}

/** Does some work whose errors are in the words of whoever reads them. */
async function inWords<T>(words: Words, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BrandfillError) error.message = words(error.message);
    throw error;
  }
}

/** What is typed overrides the file, which counts more than the environment. */
const RUN_OPTIONS = {
  ...under('Files', {
    input: option(listFile(), { help: 'use this list instead of the one in the job file' }),
  }),
  ...(Object.fromEntries(
    Object.entries(OPTIONS).map(([key, one]) => [key, varied(one, { env: undefined })]),
  ) as typeof OPTIONS),
  ...START_OPTIONS,
};

/** `brandfill run` */
export const run = defineCommand(RUN_OPTIONS, async (call) => {
  const { words, typed, settings } = call;
  const [file = ''] = words;
  const isOfStart = (key: string): boolean => Object.hasOwn(START_OPTIONS, key);
  const overrides = Object.fromEntries(Object.entries(typed).filter(([key]) => !isOfStart(key)));
  return await watchRun(call, async ({ onRecorder, ...watch }) => {
    if (settings.dryRun) {
      const jobFile = readJobFile(file, { env: process.env, now: new Date() });
      return await inWords(wordsOf(jobFile, overrides), async () => {
        const { input, job } = toLoadedJob(jobFile, overrides);
        return await planJob(input, job, watch);
      });
    }
    const onLoaded = ({ input, job }: LoadedJob): void =>
      refuseRowsBesideJson(input, job.settings.out, settings);
    const ended = await runJob(
      file,
      { ...watch, overrides, onLoaded },
      { onRecorder, command: call.line },
    );
    return ended.summary;
  });
});
