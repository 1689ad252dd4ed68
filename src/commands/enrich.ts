import type { EnrichedRow } from '../collector/output/output-columns.ts';
import type { Plan } from '../collector/plan.ts';
import type { RunControl } from '../common/run-control.ts';
import { createJob } from '../options/api.ts';
import type { RUN_FLAGS } from '../options/command-options.ts';
import { callback, list, object, secret, signal } from '../options/kinds.ts';
import { libraryNaming, type OptionsOf, type Sources } from '../options/option.ts';
import { flagOrArgument, OPTIONS } from '../options/options.ts';
import { type RunSurroundings, showRun } from '../page/show-run.ts';
import type { ListInput } from '../rows/list-input.ts';
import { runToFiles, runToRows } from '../run/enrich.ts';
import { planOnly } from '../run/plan.ts';
import { createContext } from '../run/run-context.ts';
import type { RunEvent } from '../watch/events.ts';
import type { Summary } from '../watch/summary.ts';
import type { RunCommand } from './command.ts';
import { refuseRowsBesideJson, watchRun } from './watch-run.ts';

/** The options of a run: those of the command line, and those that only programs have. */
export const ENRICH = {
  ...OPTIONS,
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  input: list<ListInput>(),
  /** The credential. @default BRANDFILL_API_KEY */
  apiKey: secret(),
  /** The name of the changes file from run to run, if its path has a date. @default its path */
  changesId: secret(),
  /** Asked before the first call. False ends it with an `AbortError`. @default no question */
  confirm: callback<(plan: Plan) => Promise<boolean>>(),
  /** The token that viewers need, if others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  token: secret(),
  /**
   * Stops the run in order: no new call starts, calls under way get ten seconds, and all rows are
   * written, those not asked as `skipped`. Before the first call it ends the run with the signal's
   * reason.
   */
  signal: signal(),
  /** The id of the run in logs and in its summary. @default random */
  runId: secret(),
  /** Called as the run goes on. If it throws, the run stops and rejects with that error. */
  onEvent: callback<(event: RunEvent) => void>(),
  /** Pauses, resumes and stops the run; made by `createRunControl`. @default no control */
  control: object<RunControl>('what createRunControl makes', 'whileOpen'),
};

/** Options of a run. Durations are texts such as `'30d'`, or milliseconds. */
export interface EnrichOptions extends OptionsOf<typeof ENRICH> {}

/** A run whose rows go to the caller has no options about files. */
const { out, failures, changes, key, formulas, report, changesId, ...ENRICH_ROWS } = ENRICH;

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
  const job = createJob({ given: options, env, describe: naming }, 'enrich', ENRICH);
  const { token } = options;
  const sight = { ...around, token, describe: naming };
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
export async function* enrichRows(
  options: OptionsOf<typeof ENRICH_ROWS>,
): AsyncGenerator<EnrichedRow, Summary> {
  const job = createJob({ given: options }, 'enrichRows', ENRICH_ROWS);
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
  const job = createJob({ given: options, env, describe: naming }, 'plan', ENRICH);
  const { context, throwIfFailed } = createContext(options);
  const planned = await planOnly(options.input, job, { ...context, mostExamples });
  throwIfFailed();
  return planned;
}

/** The name of an option in error messages. The command line uses `--base-url`. */
export type OptionNaming = (key: string) => string;

/** The surroundings of a run that a program starts for somebody else. */
interface EnrichSurroundings extends RunSurroundings {
  /** Where settings come from that are not given. @default process.env */
  readonly env?: Sources['env'];
}

/** The same for a plan. */
interface PlanSurroundings extends Pick<EnrichSurroundings, 'env'> {
  /** The most rows without a domain that are shown. @default 3 */
  readonly mostExamples?: number | undefined;
}

/** `brandfill enrich` */
export const runEnrich: RunCommand<typeof RUN_FLAGS> = async ({ words, options, ...call }) => {
  const [input = ''] = words;
  const given = { ...options, input };
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
