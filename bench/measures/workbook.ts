import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canWatchMemory, watchMemory } from '../harness/anonymous-memory.ts';
import { enrich } from '../harness/brandfill.ts';
import type { BenchContext, Measure } from '../harness/measure.ts';
import { seconds } from '../harness/ratio.ts';
import { startServer } from '../harness/server.ts';
import { writeWorkbook } from '../harness/workbook.ts';

const ROWS = 100_000;
const MOST_BYTES = 400e6;
const LANES = 64;

/** Memory and time of a workbook of 100,000 rows and 20 columns, in and out. */
export const measureWorkbook: Measure = async (context) => {
  const { folder, say } = context;
  const input = join(folder, 'list.xlsx');
  await writeWorkbook(input, ROWS);
  const server = await startServer();
  const first = await runOnce(input, server.url, context);
  say(`each looked up: ${first.megabytes} in ${seconds(first.elapsedMs)}`);
  const again = await runOnce(input, server.url, { ...context, keepStore: true });
  say(`nothing to look up: ${again.megabytes} in ${seconds(again.elapsedMs)}`);
  await server.close();
  await rm(input);
  const what = `workbook of ${ROWS.toLocaleString('en')} x 20, in and out`;
  const shown = { baseline: '-', target: '-', isMet: true };
  const time = { ...shown, what: `${what}, known`, ours: seconds(again.elapsedMs) };
  const findings = [{ ...time, figure: time.ours }];
  if (!canWatchMemory()) return findings;
  const peakBytes = Math.max(first.peakBytes, again.peakBytes);
  const figure = megabytes(peakBytes);
  const isMet = peakBytes < MOST_BYTES;
  const target = `< ${megabytes(MOST_BYTES)}`;
  return [...findings, { ...shown, what: `${what}, memory`, ours: figure, figure, target, isMet }];
};

async function runOnce(
  input: string,
  url: string,
  { program, folder, keepStore = false }: BenchContext & { readonly keepStore?: boolean },
): Promise<{ readonly peakBytes: number; readonly megabytes: string; readonly elapsedMs: number }> {
  let peak = (): number => 0;
  const { elapsedMs } = await enrich({
    program,
    url,
    input,
    folder,
    keepStore,
    concurrency: LANES,
    flags: ['--out', join(folder, 'out.xlsx'), '--yes'],
    onStart: (child) => {
      if (canWatchMemory()) peak = watchMemory(child);
    },
  });
  const peakBytes = peak();
  return { peakBytes, megabytes: megabytes(peakBytes), elapsedMs };
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}
