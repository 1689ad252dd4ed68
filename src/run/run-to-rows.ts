import { isListed } from '../collector/joined-row.ts';
import { type EnrichedRow, toEnrichedRow } from '../collector/row-object.ts';
import { createCloser } from '../common/lifetime.ts';
import type { Job } from '../options/api.ts';
import type { ListInput } from '../rows/list-input.ts';
import type { Summary } from '../watch/summary.ts';
import { lookUpAndJoin } from './look-up-and-join.ts';
import { open } from './open-list-of-run.ts';
import { openStoreToPlan, plan } from './plan-run.ts';
import type { RunContext } from './run-context.ts';
import { summarize } from './summarize-run.ts';

/** Enriches a list row by row, and yields the rows to the caller. */
export async function* runToRows(
  input: ListInput,
  job: Job,
  context: RunContext,
): AsyncGenerator<EnrichedRow, Summary> {
  const closer = createCloser();
  try {
    const list = await open(input, job, { context, closer, spoolFolder: job.settings.store });
    const run = await plan(list, closer.add(await openStoreToPlan(job, context)));
    const joined = await lookUpAndJoin(run);
    for await (const rows of joined.rows) {
      for (const row of rows.filter(isListed))
        yield toEnrichedRow(row, list.format, joined.columns);
    }
    return summarize(run, joined, {});
  } finally {
    await closer.close();
  }
}
