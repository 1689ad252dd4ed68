import type { EnrichedRow } from './collector/row-object.ts';
import type { RunEnd } from './dashboard/live-run.ts';
import { BESIDE_SETTINGS, type EnrichOptions } from './enrich-options.ts';
import { describeError } from './exit-codes.ts';
import { createJob, type Job } from './options/api.ts';
import { OPTIONS, OPTIONS_OF_FILES, type OptionKey } from './options/options.ts';
import { checkOptions, libraryNaming } from './options/read-options.ts';
import type { Plan } from './producer/plan.ts';
import { planOnly } from './run/plan-run.ts';
import { createContext } from './run/run-context.ts';
import { makeInSight, openRunStatus, type RunSurroundings } from './run/run-status.ts';
import { runToFiles } from './run/run-to-files.ts';
import { runToRows } from './run/run-to-rows.ts';
import type { Summary } from './watch/summary.ts';

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
  around: RunSurroundings = {},
): Promise<Summary> {
  const job = jobOf(options, { of: 'enrich', naming });
  const run = job.settings.merge === undefined ? runToFiles : await loadRunToMerge();
  const { token } = options;
  const sight = { ...around, token, describe: naming as (key: string) => string };
  const { context: ofCaller, throwIfFailed } = createContext(options);
  const status = await openRunStatus(job, ofCaller, sight);
  const summary = await makeInSight(status, async (context) => {
    if (job.settings.report === undefined) return await run(options.input, job, context);
    const { runWithReport } = await import('./run/run-with-report.ts');
    return await runWithReport(options.input, job, { run, context });
  });
  throwIfFailed();
  return summary;
}

// Parts that few runs need are loaded on demand.
async function loadRunToMerge(): Promise<typeof runToFiles> {
  return (await import('./run/run-to-merge.ts')).runToMerge;
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
  const job = jobOf(options, { of: 'enrichRows', naming: libraryNaming, pointless: FILES });
  const { token } = options;
  const { context, throwIfFailed } = createContext(options);
  const status = await openRunStatus(job, context, { token, describe: libraryNaming });
  let how: RunEnd | undefined; // stays undefined if the caller takes no more rows
  try {
    const summary = yield* runToRows(options.input, job, status.context);
    how = { summary };
    throwIfFailed();
    return summary;
  } catch (error) {
    how ??= { error: describeError(error) };
    throw error;
  } finally {
    await status.close(how);
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
): Promise<Plan> {
  const job = jobOf(options, { of: 'plan', naming });
  const { context, throwIfFailed } = createContext(options);
  const planned = await planOnly(options.input, job, context);
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

interface Call {
  /** The function that was called. */
  readonly of: string;
  readonly naming: OptionNaming;
  readonly pointless?: typeof FILES;
}

function jobOf(options: EnrichOptions, { of, naming, ...rest }: Call): Job {
  const describe = naming as (key: string) => string;
  checkOptions(options, { of, declared: OPTIONS, others: BESIDE_SETTINGS, describe, ...rest });
  return createJob({ given: { ...options }, apiKey: options.apiKey, env: process.env, describe });
}
