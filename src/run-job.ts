import { dirname } from 'node:path';
import { createCallbackGuard } from './common/callback-guard.ts';
import { makeFolder } from './common/files.ts';
import { keepSecret, withoutSecrets } from './common/secrets.ts';
import { enrich } from './enrich.ts';
import type { EnrichOptions } from './enrich-options.ts';
import { describeError, exitCodeOf, exitCodeOfError } from './exit-codes.ts';
import {
  distrustOf,
  jobNameOf,
  LOAD_OPTIONS,
  type LoadedJob,
  type LoadJobOptions,
  openJobFile,
  toLoadedJob,
} from './load-job.ts';
import type { FinishedRun } from './on-finish/report.ts';
import { tell } from './on-finish/tell.ts';
import { readSecret } from './options/api.ts';
import type { JobFile } from './options/job-file.ts';
import { OUTPUT_OPTIONS } from './options/options.ts';
import { checkOptions, libraryNaming, type OptionKinds } from './options/read-options.ts';
import type { RunSurroundings } from './run/run-status.ts';
import type { Summary } from './watch/summary.ts';

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
    await tellOf(jobFile, run, { ...options, onNotice });
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

const RUN_OPTIONS: OptionKinds<RunJobOptions> = {
  ...LOAD_OPTIONS,
  signal: 'signal',
  runId: 'text',
  onEvent: 'function',
  confirm: 'function',
  onLoaded: 'function',
  onSummary: 'function',
};

/** Creates the folders of outputs that the file names, such as one for each day. */
function makeFolders({ values }: JobFile): void {
  for (const key of OUTPUT_OPTIONS) {
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

async function tellOf(
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
  await tell(onFinish, run, {
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
