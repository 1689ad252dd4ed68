/**
 * Measures Brandfill against its goals: `npm run bench`, or `npm run bench -- lookups start` for
 * some measures only.
 *
 * `--full` measures memory at 2,000,000 rows and a night at 1,000,000, which takes minutes. `--clone DIR` measures the built
 * command of another clone, to compare two versions.
 *
 * Goals that are not met do not make it fail; only what cannot be measured does.
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
import { measureListen } from './measures/listen.ts';
import { measureLookups } from './measures/lookups.ts';
import { measureMemory } from './measures/memory.ts';
import { measureNight } from './measures/night.ts';
import {
  measureQueueFleet,
  measureQueueLookups,
  measureQueueMemory,
  measureQueueRecovery,
} from './measures/queue.ts';
import { measureStart } from './measures/start.ts';
import { measureWorkbook } from './measures/workbook.ts';

const MEASURES: Readonly<Record<string, Measure>> = {
  lookups: measureLookups,
  listen: measureListen,
  command: measureCommand,
  memory: measureMemory,
  fresh: measureFresh,
  night: measureNight,
  workbook: measureWorkbook,
  start: measureStart,
  queue: measureQueueLookups,
  'queue-memory': measureQueueMemory,
  'queue-fleet': measureQueueFleet,
  'queue-recovery': measureQueueRecovery,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { full: { type: 'boolean', default: false }, clone: { type: 'string' } },
});
const names = positionals.length > 0 ? positionals : Object.keys(MEASURES);
const unknown = names.filter((name) => !Object.hasOwn(MEASURES, name));
if (unknown.length > 0) {
  throw new Error(
    `Cannot measure ${unknown.join(', ')}: there are ${Object.keys(MEASURES).join(', ')}`,
  );
}

const program = await findProgram(values.clone);
const folder = await mkdtemp(join(tmpdir(), 'brandfill-bench-'));
const findings: Finding[] = [];
console.log(`Node.js ${process.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)}`);
// Whoever gives up waiting leaves neither servers nor files behind.
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
