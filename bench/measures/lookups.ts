import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import { timeProgram } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROWS = 60_000;
const ROUNDS = 3;
const LANES = 64;

/** Lookups per second while lookups are made, against a bare loop over the same server. */
export const measureLookups: Measure = async ({ program, folder, say }) => {
  const input = join(folder, 'lookups.csv');
  await writeList(input, ROWS);
  const server = await startServer();
  const rounds = await inRounds(ROUNDS, async () => {
    const bareMs = await timeProgram('bare-loop.ts', [server.url, String(ROWS), String(LANES)]);
    const run = await enrich({ program, url: server.url, input, folder, concurrency: LANES });
    const oursMs = run.summary.lookupMs;
    say(`${perSecond(ROWS, oursMs)}, bare loop ${perSecond(ROWS, bareMs)}`);
    return { bareMs, oursMs };
  });
  await server.close();
  return [
    ratioFinding({
      what: 'lookups/s, to a bare loop',
      ours: perSecond(
        ROWS,
        medianOf(rounds, ({ oursMs }) => oursMs),
      ),
      baseline: perSecond(
        ROWS,
        medianOf(rounds, ({ bareMs }) => bareMs),
      ),
      ratios: rounds.map(({ oursMs, bareMs }) => bareMs / oursMs),
      atLeast: 0.8,
    }),
  ];
};
