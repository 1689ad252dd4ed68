import type { EnrichedRow } from '../collector/output/output-columns.ts';
import type { Plan } from '../collector/plan.ts';
import type { RunControl } from '../common/run-control.ts';
import { createJob, type Job } from '../options/api.ts';
import type { RUN_FLAGS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/option.ts';
import { flagOrArgument, OPTIONS, OPTIONS_OF_FILES, type OptionKey } from '../options/options.ts';
import {
  checkOptions,
  libraryNaming,
  type OptionKinds,
  type SettingSources,
} from '../options/read-options.ts';
import { type RunSurroundings, showRun } from '../page/show-run.ts';
import type { ListInput } from '../rows/list-input.ts';
import { runToFiles, runToRows } from '../run/enrich.ts';
import { planOnly } from '../run/plan.ts';
import { createContext } from '../run/run-context.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import { type RunCommand } from './command.ts';
import { refuseRowsBesideJson, watchRun } from './watch-run.ts';

/**
 * Enriches a list into two files, as `brandfill enrich` does. Every row of the input is in `out`
 * exactly once, in the order of the input. Rows that were not enriched are also in `failures`, with
 * the reason.
 *
 * @throws BrandfillError when an option, the input or an output cannot be used. No output is then
 *   changed. Nothing that an API does throws: it is in the rows and in the summary.
 *
 * @example
 * ```ts
 * const summary = await enrich({ input: 'accounts.csv', baseUrl: 'https://api.example.com' });
 * console.log(`${summary.statuses.found} of ${summary.rows} rows enriched`);
 * ```
 */
export async function enrich(
  options: EnrichOptions,
  naming: OptionNaming = libraryNaming,
  { env = process.env, ...around }: EnrichSurroundings = {},
): Promise<Summary> {
  const job = jobOf(options, { of: 'enrich', naming, env });
  const { token } = options;
  const sight = { ...around, token, describe: naming as (key: string) => string };
  const { context, throwIfFailed } = createContext(options);
  const shown = await showRun(job, context, {
    ...sight,
    list: around.list ?? nameOf(options.input),
  });
  try {
    const summary = await shown.end(await runToFiles(options.input, job, shown.context));
    throwIfFailed();
    return summary;
  } catch (error) {
    await shown.fail(error);
    throw error;
  } finally {
    await shown.close();
  }
}

function nameOf(input: ListInput): string {
  return typeof input === 'string' ? input : 'rows';
}

/**
 * Enriches a list row by row, without files. The first row comes when all lookups are done. The
 * return value of the generator is the summary.
 *
 * @throws BrandfillError as `enrich`
 *
 * @example
 * ```ts
 * for await (const row of enrichRows({ input: [{ domain: 'example.com' }], baseUrl })) {
 *   console.log(row['brand_status'], row['brand_name']);
 * }
 * ```
 */
export async function* enrichRows(options: EnrichOptions): AsyncGenerator<EnrichedRow, Summary> {
  const { env } = process;
  const job = jobOf(options, { of: 'enrichRows', naming: libraryNaming, env, pointless: FILES });
  const { token } = options;
  const { context, throwIfFailed } = createContext(options);
  const list = nameOf(options.input);
  const shown = await showRun(job, context, { token, describe: libraryNaming, list });
  try {
    const summary = await shown.end(yield* runToRows(options.input, job, shown.context));
    throwIfFailed();
    return summary;
  } catch (error) {
    await shown.fail(error);
    throw error;
  } finally {
    await shown.close();
  }
}

/**
 * Reads a list and returns what a run would do: rows, domains, calls to make. Makes no calls.
 *
 * @throws BrandfillError as `enrich`
 */
export async function plan(
  options: EnrichOptions,
  naming: OptionNaming = libraryNaming,
  { env = process.env, mostExamples }: PlanSurroundings = {},
): Promise<Plan> {
  const job = jobOf(options, { of: 'plan', naming, env });
  const { context, throwIfFailed } = createContext(options);
  const planned = await planOnly(options.input, job, { ...context, mostExamples });
  throwIfFailed();
  return planned;
}

/** The name of an option in error messages. The command line uses `--base-url`. */
export type OptionNaming = (key: OptionKey) => string;

/** Options about files, for a run that writes no files. */
const FILES = {
  keys: OPTIONS_OF_FILES,
  why: 'its rows go to the caller, not into files',
} as const;

/** The surroundings of a run that a program starts for somebody else. */
interface EnrichSurroundings extends RunSurroundings {
  /** Where settings come from that are not given. @default process.env */
  readonly env?: SettingSources['env'] | undefined;
}

/** The same for a plan. */
interface PlanSurroundings extends Pick<EnrichSurroundings, 'env'> {
  /** The most rows without a domain that are shown. @default 3 */
  readonly mostExamples?: number | undefined;
}

interface Call {
  /** The function that was called. */
  readonly of: string;
  readonly naming: OptionNaming;
  readonly env: SettingSources['env'];
  readonly pointless?: typeof FILES;
}

function jobOf(options: EnrichOptions, { of, naming, env, ...rest }: Call): Job {
  const describe = naming as (key: string) => string;
  checkOptions(options, { of, declared: OPTIONS, others: BESIDE_SETTINGS, describe, ...rest });
  const { apiKey } = options;
  return createJob({ given: { ...options }, apiKey, env, describe });
}

/** Options of a run that are no settings of a job. */
interface BesideSettings {
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  readonly input: ListInput;
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** The name of the changes file from run to run, if its path has a date. @default its path */
  readonly changesId?: string | undefined;
  /** Asked before the first call. False ends it with an `AbortError`. @default no question */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** The token that viewers need, if others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  readonly token?: string | undefined;
  /**
   * Stops the run in order: no new call starts, calls under way get ten seconds, and all rows are
   * written, those not asked as `skipped`. Before the first call it ends the run with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** The id of the run in logs and in its summary. @default random */
  readonly runId?: string | undefined;
  /** Called as the run goes on. If it throws, the run stops and rejects with that error. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Pauses, resumes and stops the run; made by `createRunControl`. @default no control */
  readonly control?: RunControl | undefined;
}

/** Options of a run. Durations are texts such as `'30d'`, or milliseconds. */
export interface EnrichOptions extends OptionsOf<typeof OPTIONS>, BesideSettings {}

export const BESIDE_SETTINGS: OptionKinds<BesideSettings> = {
  input: 'list',
  apiKey: 'text',
  changesId: 'text',
  confirm: 'function',
  signal: 'signal',
  runId: 'text',
  onEvent: 'function',
  control: 'control',
  token: 'text',
};

/** `brandfill enrich` */
export const runEnrich: RunCommand<typeof RUN_FLAGS> = async ({ words, options, ...call }) => {
  const [input = ''] = words;
  const given: EnrichOptions = { ...options, input };
  refuseRowsBesideJson(given, call.flags);
  return await watchRun(
    {
      plan: (watch) => plan({ ...given, ...watch }, flagOrArgument),
      run: async (watch, onSummary, around) =>
        onSummary(await enrich({ ...given, ...watch }, flagOrArgument, around)),
    },
    call,
  );
};
