import { join } from 'node:path';
import { enrich } from '../harness/brandfill.ts';
import { runNode, timeProgram } from '../harness/child.ts';
import { writeList } from '../harness/list.ts';
import type { BenchContext, Finding, Measure } from '../harness/measure.ts';
import { seconds } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const HELP_ROUNDS = 11;
const LONGEST_HELP_MS = 250;
const LIST_ROUNDS = 7;
const LONGEST_MORE_MS = { known: 400, unknown: 500 };
const ROWS = 100;
/** The default of the command. */
const LANES = 256;
const LATENCY_MS = 80;

/**
 * How long the help takes, and how much longer a short list takes than its calls alone: when the
 * rate is known, and when it has to be found out first.
 */
export const measureStart: Measure = async (context) => [
  await measureHelp(context),
  await measureShortList(context, 'known', ['--rate', '1000/s']),
  await measureShortList(context, 'unknown', []),
];

async function measureHelp({ program, say }: BenchContext): Promise<Finding> {
  const rounds = await inRounds(HELP_ROUNDS, () => runNode([program, '--help']));
  const helpMs = medianOf(rounds, ({ elapsedMs }) => elapsedMs);
  say(`--help ${seconds(helpMs)}`);
  return {
    what: 'brandfill --help',
    ours: seconds(helpMs),
    baseline: '-',
    figure: seconds(helpMs),
    target: `< ${seconds(LONGEST_HELP_MS)}`,
    isMet: helpMs < LONGEST_HELP_MS,
  };
}

async function measureShortList(
  { program, folder, say }: BenchContext,
  rate: keyof typeof LONGEST_MORE_MS,
  flags: readonly string[],
): Promise<Finding> {
  const input = join(folder, 'short.csv');
  await writeList(input, ROWS);
  const server = await startServer({ latencyMs: LATENCY_MS });
  const { url } = server;
  const rounds = await inRounds(LIST_ROUNDS, async () => {
    const bareMs = await timeProgram('bare-loop.ts', [url, String(ROWS), String(LANES)]);
    const { elapsedMs: oursMs } = await enrich({ program, url, input, folder, flags });
    say(`${ROWS} rows, rate ${rate}: ${seconds(oursMs)}, calls alone ${seconds(bareMs)}`);
    return { bareMs, oursMs };
  });
  await server.close();
  const moreMs = medianOf(rounds, ({ oursMs, bareMs }) => oursMs - bareMs);
  return {
    what: `${ROWS} rows at ${LATENCY_MS} ms, rate ${rate}, beyond the calls`,
    ours: seconds(medianOf(rounds, ({ oursMs }) => oursMs)),
    baseline: seconds(medianOf(rounds, ({ bareMs }) => bareMs)),
    figure: `+${seconds(moreMs)}`,
    target: `<= ${seconds(LONGEST_MORE_MS[rate])}`,
    isMet: moreMs <= LONGEST_MORE_MS[rate],
  };
}
