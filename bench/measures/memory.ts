import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canWatchMemory, watchMemory } from '../harness/anonymous-memory.ts';
import { enrich } from '../harness/brandfill.ts';
import { writeList } from '../harness/list.ts';
import type { BenchContext, Measure } from '../harness/measure.ts';
import { seconds } from '../harness/ratio.ts';
import { startServer } from '../harness/server.ts';

const MOST_BYTES = 300e6;
const MOST_GROWTH = 1.3;
const LANES = 64;

/**
 * Anonymous memory with a list, and with one of ten times its length: it must not grow with the
 * list.
 */
export const measureMemory: Measure = async (context) => {
  if (!canWatchMemory()) {
    context.say('left out: only Linux tells the anonymous memory of a process');
    return [];
  }
  const [few, many] = context.isFull ? [100_000, 1_000_000] : [20_000, 200_000];
  const fewBytes = await peakOf(few, context);
  const manyBytes = await peakOf(many, context);
  const growth = manyBytes / fewBytes;
  const shown = { ours: megabytes(manyBytes), baseline: megabytes(fewBytes) };
  return [
    {
      ...shown,
      what: `memory at ${many.toLocaleString('en')} rows`,
      baseline: '-',
      figure: megabytes(manyBytes),
      target: `< ${megabytes(MOST_BYTES)}`,
      isMet: manyBytes < MOST_BYTES,
    },
    {
      ...shown,
      what: `memory, to ${few.toLocaleString('en')} rows`,
      figure: growth.toFixed(2),
      target: `<= ${MOST_GROWTH}`,
      isMet: growth <= MOST_GROWTH,
    },
  ];
};

/** The peak of anonymous memory of one run over this many domains, each of them looked up. */
async function peakOf(rows: number, { program, folder, say }: BenchContext): Promise<number> {
  const input = join(folder, 'memory.csv');
  await writeList(input, rows);
  const server = await startServer();
  let peakBytes = (): number => 0;
  const { elapsedMs } = await enrich({
    program,
    url: server.url,
    input,
    folder,
    concurrency: LANES,
    onStart: (child) => {
      peakBytes = watchMemory(child);
    },
  });
  await server.close();
  await rm(input);
  say(`${rows.toLocaleString('en')} rows: ${megabytes(peakBytes())} in ${seconds(elapsedMs)}`);
  return peakBytes();
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
