import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import { timeProgram } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { BenchContext, Finding, Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROWS = 500_000;
const ROUNDS = 3;

/**
 * A run that finds every row in its store, against csv-parse piped into csv-stringify. The result
 * depends on how much is added to each row. So there are two measures: five short fields, and the
 * sandbox's whole answers, which make a file six times as long as the list. It is measured from the
 * third night on: in the second one, the cells of answers are made and kept.
 */
export const measureFresh: Measure = async (context) => [
  await measureAnswers(context, { name: 'five fields added', fewFields: true }),
  await measureAnswers(context, { name: 'nineteen columns added', fewFields: false }),
];

async function measureAnswers(
  { program, folder, say }: BenchContext,
  { name, fewFields }: { readonly name: string; readonly fewFields: boolean },
): Promise<Finding> {
  const input = join(folder, 'fresh.csv');
  await writeList(input, ROWS);
  const server = await startServer({ fewFields });
  const { url } = server;
  say(`fills the store with ${ROWS.toLocaleString('en')} outcomes, ${name}`);
  await enrich({ program, url, input, folder, concurrency: 64 });
  await enrich({ program, url, input, folder, keepStore: true });
  const rounds = await inRounds(ROUNDS, async () => {
    const pipeMs = await timeProgram('csv-pipe.ts', [input, join(folder, 'pipe.csv')]);
    const run = await enrich({ program, url, input, folder, keepStore: true });
    if (run.summary.calls > 0) throw new Error('Cannot measure: not every row was fresh');
    const oursMs = run.elapsedMs;
    say(`${perSecond(ROWS, oursMs)}, csv alone ${perSecond(ROWS, pipeMs)}`);
    return { pipeMs, oursMs };
  });
  await server.close();
  return ratioFinding({
    what: `all rows fresh, ${name}, to csv alone`,
    ours: perSecond(
      ROWS,
      medianOf(rounds, ({ oursMs }) => oursMs),
    ),
    baseline: perSecond(
      ROWS,
      medianOf(rounds, ({ pipeMs }) => pipeMs),
    ),
    ratios: rounds.map(({ oursMs, pipeMs }) => pipeMs / oursMs),
    atLeast: 1.5,
  });
}
