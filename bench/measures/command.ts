import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import { timeProgram } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { Measure } from '../harness/measure.ts';
import { ratioFinding, seconds } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROWS = 60_000;
const ROUNDS = 3;
const LANES = 64;
/** The columns that the plain script also writes. */
const FIELDS = ['--fields', 'name=name,industry=industry,city=location.city'];

/**
 * The whole command, from its start to the renamed output, against a bare loop and a plain script.
 */
export const measureCommand: Measure = async ({ program, folder, say }) => {
  const input = join(folder, 'command.csv');
  await writeList(input, ROWS);
  const server = await startServer();
  const { url } = server;
  const rounds = await inRounds(ROUNDS, async () => {
    const bareMs = await timeProgram('bare-loop.ts', [url, String(ROWS), String(LANES)]);
    const run = await enrich({ program, url, input, folder, concurrency: LANES, flags: FIELDS });
    const plainMs = await timeProgram('plain-script.ts', [url, input, join(folder, 'plain.csv')]);
    const oursMs = run.elapsedMs;
    say(`${seconds(oursMs)}, bare loop ${seconds(bareMs)}, plain script ${seconds(plainMs)}`);
    return { bareMs, oursMs, plainMs };
  });
  await server.close();
  const ours = seconds(medianOf(rounds, ({ oursMs }) => oursMs));
  return [
    ratioFinding({
      what: 'whole command, to a bare loop',
      ours,
      baseline: seconds(medianOf(rounds, ({ bareMs }) => bareMs)),
      ratios: rounds.map(({ oursMs, bareMs }) => bareMs / oursMs),
      atLeast: 0.55,
    }),
    ratioFinding({
      what: 'whole command, to a plain script',
      ours,
      baseline: seconds(medianOf(rounds, ({ plainMs }) => plainMs)),
      ratios: rounds.map(({ oursMs, plainMs }) => plainMs / oursMs),
      atLeast: 3,
    }),
  ];
};
