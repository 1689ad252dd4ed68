import { z } from 'zod';
import type { Plan } from '../collector/first-reading.ts';
import type { EnrichedRow } from '../collector/output/output-columns.ts';
import type { RunControl } from '../common/run-control.ts';
import { given, list, plainText } from '../options/kinds.ts';
import type { OptionsOf } from '../options/option.ts';
import { OPTIONS, SOURCE } from '../options/options.ts';
import { type RunSurroundings, showRun } from '../page/show-run.ts';
import { createJob, type Job } from '../profile/job.ts';
import type { ListInput } from '../rows/open-list.ts';
import { type RanTo, runToFiles, runToRows } from '../run/enrich.ts';
import { planOnly } from '../run/plan.ts';
import { type CallerOptions, createContext, type RunContext } from '../run/run-context.ts';
import { runToTried, type Tried } from '../run/trial.ts';
import type { RunEvent } from '../watch/events.ts';
import type { RunView } from '../watch/run-view.ts';

/** The options of a run: those of the command line, and those that only programs have. */
const ENRICH = {
  ...OPTIONS,
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  input: list<ListInput>(),
  /** The credential. @default BRANDFILL_API_KEY */
  apiKey: plainText(),
  /**
   * APIs that are asked in turn, each about what the one before does not know.
   *
   * @default one, as the options say
   */
  sources: z.array(z.strictObject({ ...SOURCE, apiKey: plainText() })).optional(),
  /** The name of the changes file from run to run, if its path has a date. @default its path */
  changesId: plainText(),
  /**
   * What the run is called, so that one that was killed or interrupted has what its bounds have
   * left when it is started again. @default the path of its list; rows and pipes without a name
   * begin anew
   */
  runName: plainText(),
  /** Asked before the first call. False ends it with an `AbortError`. @default no question */
  confirm: given<(plan: Plan) => Promise<boolean>>(),
  /** The token that viewers need, if others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  token: plainText(),
  /**
   * Stops the run in order: no new call starts, calls under way get ten seconds, and all rows are
   * written, those not asked as `skipped`. Before the first call it ends the run with the signal's
   * reason.
   */
  signal: given<AbortSignal>(),
  /** The id of the run in logs and in its summary. @default random */
  runId: plainText(),
  /** Called as the run goes on. If it throws, the run stops and rejects with that error. */
  onEvent: given<(event: RunEvent) => void>(),
  /** Pauses, resumes and stops the run; made by `createRunControl`. @default no control */
  control: given<RunControl>(),
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
export async function enrich(options: EnrichOptions): Promise<RunView> {
  const job = createJob({ given: options }, 'enrich', ENRICH);
  return await enrichJob(options.input, job, options);
}

/** Does the same with options that are read. */
export async function enrichJob(
  input: ListInput,
  job: Job,
  caller: CallerOptions & { readonly token?: string | undefined },
  around: RunSurroundings = {},
): Promise<RunView> {
  return await shownRun(await openRun(input, job, caller, around), async (context) => {
    return await runToFiles(input, job, context);
  });
}

/** Looks up a sample of a list, and returns what came of it rather than writing it. */
export async function sampleJob(input: ListInput, job: Job, caller: CallerOptions) {
  let tried: readonly Tried[] = [];
  const run = await openRun(input, job, caller, {});
  const view = await shownRun(run, async (context) => {
    const made = await runToTried(input, job, context);
    tried = made.tried;
    return made.ranTo;
  });
  return { /** What came of each domain. */ tried, view };
}

/** Makes a run, and shows how it ended. */
async function shownRun(
  run: Awaited<ReturnType<typeof openRun>>,
  make: (context: RunContext) => Promise<RanTo>,
): Promise<RunView> {
  try {
    return await run.end(await make(run.context));
  } catch (error) {
    await run.fail(error);
    throw error;
  } finally {
    await run.close();
  }
}

/** Opens what shows a run. */
async function openRun(
  input: ListInput,
  job: Job,
  { token, ...caller }: Parameters<typeof enrichJob>[2],
  around: RunSurroundings,
) {
  const { context, throwIfFailed } = createContext(caller);
  const list = around.list ?? (typeof input === 'string' ? input : 'rows');
  const shown = await showRun(job, context, { ...around, token, list });
  return {
    ...shown,
    end: async (ranTo: RanTo): Promise<RunView> => {
      const summary = await shown.end(ranTo);
      throwIfFailed();
      return summary;
    },
  };
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
): AsyncGenerator<EnrichedRow, RunView> {
  const { input } = options;
  const job = createJob({ given: options }, 'enrichRows', ENRICH_ROWS);
  const run = await openRun(input, job, options, {});
  try {
    return await run.end(yield* runToRows(input, job, run.context));
  } catch (error) {
    await run.fail(error);
    throw error;
  } finally {
    await run.close();
  }
}

/**
 * Reads a list and returns what a run would do: rows, domains, calls to make. Makes no calls.
 *
 * @throws BrandfillError as `enrich`
 */
export async function plan(options: EnrichOptions): Promise<Plan> {
  const job = createJob({ given: options }, 'plan', ENRICH);
  return await planJob(options.input, job, options);
}

/** Does the same with options that are read. */
export async function planJob(input: ListInput, job: Job, caller: CallerOptions): Promise<Plan> {
  const { context, throwIfFailed } = createContext(caller);
  const planned = await planOnly(input, job, context);
  throwIfFailed();
  return planned;
}
