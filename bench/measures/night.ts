import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canWatchMemory, watchMemory } from '../harness/anonymous-memory.ts';
import { enrich } from '../harness/brandfill.ts';
import { timeProgram } from '../harness/child.ts';
import { domainOf, writeList } from '../harness/list.ts';
import type { BenchContext, Finding, Measure } from '../harness/measure.ts';
import { perSecond, ratioFinding } from '../harness/ratio.ts';
import { inRounds } from '../harness/rounds.ts';
import { startServer } from '../harness/server.ts';
import { medianOf } from '../harness/statistics.ts';

const ROUNDS = 3;
const FEW_ROWS = 200_000;
const ALL_ROWS = 1_000_000;
/** One row in this many is due. */
const DUE_EVERY = 25;
const MOST_BYTES = 200e6;

/** A million rows take minutes where the machine has more to do. */
const MOST_MS = 5 * 60_000;

/**
 * A night of a list of which four rows in a hundred have to be looked up, against a program that
 * only parses and writes the list, from the start of the command to its end without the time of the
 * lookups; with and without a changes file, and as lines of JSON. The domains of those rows are new
 * each night.
 */
export const measureNight: Measure = async (context) => [
  ...(await measureNights(context, { kind: 'csv', isReported: false })),
  ...(await measureNights(context, { kind: 'csv', isReported: true })),
  ...(await measureNights(context, { kind: 'jsonl', isReported: false })),
];

async function measureNights(
  context: BenchContext,
  { kind, isReported }: { readonly kind: 'csv' | 'jsonl' } & Pick<NightOptions, 'isReported'>,
): Promise<readonly Finding[]> {
  const rows = context.isFull ? ALL_ROWS : FEW_ROWS;
  const input = join(context.folder, `night.${kind}`);
  const server = await startServer({ fewFields: true });
  const night = (at: number): Promise<Night> =>
    runNight(context, { at, rows, input, url: server.url, isReported });
  await night(0);
  await night(1); // makes the cells of answers and keeps them
  let number = 1;
  const rounds = await inRounds(
    ROUNDS,
    async () => {
      number += 1;
      const pipe = [input, join(context.folder, `pipe.${kind}`)];
      const pipeMs = await timeProgram(`${kind}-pipe.ts`, pipe);
      const { elapsedMs, peakBytes } = await night(number);
      context.say(`${perSecond(rows, elapsedMs)}, ${kind} alone ${perSecond(rows, pipeMs)}`);
      return { pipeMs, oursMs: elapsedMs, peakBytes };
    },
    MOST_MS,
  );
  await server.close();
  await rm(input);
  return [
    ratioFinding({
      what: `night of ${rows.toLocaleString('en')} rows, 4% due${isReported ? ', with changes' : ''}, to ${kind} alone`,
      ours: perSecond(
        rows,
        medianOf(rounds, ({ oursMs }) => oursMs),
      ),
      baseline: perSecond(
        rows,
        medianOf(rounds, ({ pipeMs }) => pipeMs),
      ),
      ratios: rounds.map(({ oursMs, pipeMs }) => pipeMs / oursMs),
      atLeast: 0.6,
    }),
    ...memoryFinding(rows, Math.max(...rounds.map(({ peakBytes }) => peakBytes))),
  ];
}

interface Night {
  readonly elapsedMs: number;
  readonly peakBytes: number;
}

interface NightOptions {
  /** The number of the night; the first one fills the store. */
  readonly at: number;
  readonly rows: number;
  readonly input: string;
  readonly url: string;
  /** Whether there is a changes file. */
  readonly isReported: boolean;
}

async function runNight(
  { program, folder, say }: BenchContext,
  { at, rows, input, url, isReported }: NightOptions,
): Promise<Night> {
  const domain = (row: number): string =>
    domainOf(at > 0 && row % DUE_EVERY === 0 ? rows * at + row : row);
  await writeList(input, rows, domain);
  if (at === 0) say(`fills the store with ${rows.toLocaleString('en')} outcomes`);
  let peakBytes = (): number => 0;
  const { summary, elapsedMs } = await enrich({
    program,
    url,
    input,
    folder,
    concurrency: 64,
    keepStore: at > 0,
    flags: isReported ? ['--changes', join(folder, 'changes.csv')] : [],
    onStart: (child) => {
      peakBytes = canWatchMemory() ? watchMemory(child) : peakBytes;
    },
  });
  const due = at === 0 ? rows : Math.ceil(rows / DUE_EVERY);
  const told = (summary.changes?.new ?? 0) + (summary.changes?.changed ?? 0);
  if (summary.lookups !== due || told !== (isReported ? due : 0)) {
    throw new Error(
      `Cannot measure: ${due} rows are due, ${summary.lookups} lookups, ${told} told`,
    );
  }
  return { elapsedMs: elapsedMs - summary.lookupMs, peakBytes: peakBytes() };
}

function memoryFinding(rows: number, bytes: number): readonly Finding[] {
  if (!canWatchMemory()) return [];
  const shown = `${Math.round(bytes / 1e6)} MB`;
  return [
    {
      what: `memory of a night of ${rows.toLocaleString('en')} rows`,
      ours: shown,
      baseline: '-',
      figure: shown,
      target: `< ${MOST_BYTES / 1e6} MB`,
      isMet: bytes < MOST_BYTES,
    },
  ];
}
