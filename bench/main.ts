/**
 * Measures Brandfill against its goals. An unmet goal does not make it fail; a failed measurement
 * does.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { endChildren } from './harness/child.ts';
import type { Finding, Measure } from './harness/measure.ts';
import { findProgram } from './harness/program.ts';
import { formatTable } from './harness/table.ts';
import { measureCommand } from './measures/command.ts';
import { measureFresh } from './measures/fresh.ts';
import { measureLookups } from './measures/lookups.ts';
import { measureMemory } from './measures/memory.ts';
import { measureNight } from './measures/night.ts';
import {
  measureQueueCommands,
  measureQueueFleet,
  measureQueueLookups,
  measureQueueMemory,
  measureQueueRecovery,
} from './measures/queue.ts';
import { measureStart } from './measures/start.ts';
import { measureWorkbook } from './measures/workbook.ts';

const MEASURES: Readonly<Record<string, Measure>> = {
  lookups: measureLookups,
  command: measureCommand,
  memory: measureMemory,
  fresh: measureFresh,
  night: measureNight,
  workbook: measureWorkbook,
  start: measureStart,
  queue: measureQueueLookups,
  'queue-memory': measureQueueMemory,
  'queue-commands': measureQueueCommands,
  'queue-fleet': measureQueueFleet,
  'queue-recovery': measureQueueRecovery,
};

const USAGE = `Usage: npm run bench -- [MEASURE…] [--full] [--clone DIR]

Measures all, or those that are named: ${Object.keys(MEASURES).join(', ')}.

  --full       memory and a night at 1,000,000 rows, which takes minutes
  --clone DIR  the built command of another clone, to compare two versions
  --help       this text`;

function readArguments(): ReturnType<typeof parse> {
  try {
    const read = parse();
    const unknown = read.positionals.filter((name) => !Object.hasOwn(MEASURES, name));
    if (unknown.length > 0) throw new Error(`There is no measure called ${unknown.join(', ')}.`);
    return read;
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    process.exit(2);
  }
}

function parse() {
  return parseArgs({
    allowPositionals: true,
    options: {
      full: { type: 'boolean', default: false },
      clone: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
}

const { values, positionals } = readArguments();
if (values.help) {
  console.log(USAGE);
  process.exit(0);
}
const names = positionals.length > 0 ? positionals : Object.keys(MEASURES);

const program = await findProgram(values.clone).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(2);
});
const folder = await mkdtemp(join(tmpdir(), 'brandfill-bench-'));
const findings: Finding[] = [];
console.log(`Node.js ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`);
// An interrupted benchmark leaves neither servers nor files behind.
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    endChildren();
    rmSync(folder, { recursive: true, force: true });
    process.exit(130);
  });
}
try {
  for (const [name, measure] of Object.entries(MEASURES)) {
    if (!names.includes(name)) continue;
    const say = (text: string): void => console.log(`${name}: ${text}`);
    findings.push(...(await measure({ program, folder, isFull: values.full, say })));
  }
} finally {
  endChildren();
  await rm(folder, { recursive: true, force: true });
}
console.log(`\n${formatTable(findings)}`);
