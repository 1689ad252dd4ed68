// Loaded into a measured process (`node --import`). It notes the CPU time of all its threads again
// and again, and writes the notes to the file that BENCH_CPU_FILE names.
import { writeFileSync } from 'node:fs';

const EVERY_MS = 10;
const samples = [];

function note() {
  const { user, system } = process.cpuUsage();
  samples.push([Date.now(), (user + system) / 1_000]);
}

setInterval(note, EVERY_MS).unref();
process.once('exit', () => writeFileSync(process.env.BENCH_CPU_FILE, JSON.stringify(samples)));
