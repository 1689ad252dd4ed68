/**
 * The main job over a queue, with an accident: two workers take lookups from a Redis, one of them
 * is killed while it works, and no row is missing in the end. It gets a Redis as the tests do, and
 * needs no account: the API is the sandbox.
 *
 * Run it with `npm run demo:queue`.
 */
import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { parse } from 'csv-parse/sync';
import { startSandbox } from '../src/index.ts';
import { getRedis, HOW_TO_GET_REDIS } from '../test/support/get-redis.ts';
import { startRedisServer } from '../test/support/redis-server.ts';

const ROWS = 1_500;
const CALLS_PER_SECOND = 100;
const KILL_AFTER_CALLS = 400;

const source = await getRedis();
if (source === undefined) {
  console.error(`This demo needs a Redis, and there is none: ${HOW_TO_GET_REDIS}.`);
  process.exit(1);
}

const project = join(import.meta.dirname, '..');
const folder = await mkdtemp(join(tmpdir(), 'brandfill-demo-'));
const list = join(folder, 'accounts.csv');
const out = join(folder, 'accounts.enriched.csv');
const failures = join(folder, 'accounts.failures.csv');
const ids = Array.from({ length: ROWS }, (_, at) => String(1_000 + at));
const children = new Set<ChildProcess>();

const redis =
  source.program === undefined
    ? source
    : await startRedisServer(source.program, { isPersistent: true });
const sandbox = await startSandbox({
  latencyMs: { fromMs: 40, toMs: 400 },
  limit: { count: CALLS_PER_SECOND, perMs: 1_000 },
  notFound: 0.1,
  errors: 0.02,
  seed: 7,
});
try {
  process.exitCode = await play(redis.url ?? '');
} finally {
  for (const child of children) child.kill('SIGKILL');
  await Promise.all([sandbox.close(), redis.close?.()]);
  await rm(folder, { recursive: true });
}

async function play(redis: string): Promise<number> {
  await writeFile(list, `id,website\n${ids.map((id) => `${id},company-${id}.com`).join('\n')}\n`);
  console.log(
    `The sandbox API answers on ${sandbox.url}: at most ${CALLS_PER_SECOND} calls/s, some errors.\n`,
  );
  const doomed = await startWorker('A', redis);
  await startWorker('B', redis);
  const run = enrich(redis);
  while (sandbox.stats().calls < KILL_AFTER_CALLS && children.has(run)) await delay(20);
  console.log(`\n$ kill -9 ${doomed.pid}      # worker A, with all that it has under way\n`);
  doomed.kill('SIGKILL');
  if (children.has(run)) await once(run, 'exit');
  if (run.exitCode !== 0) return run.exitCode ?? 1;

  const rows = parse<{ id: string }>(await readFile(out), { columns: true });
  const isComplete = rows.length === ROWS && rows.every(({ id }, at) => id === ids[at]);
  const { calls, domains } = sandbox.stats();
  console.log(`
Rows in ${ROWS}, rows out ${rows.length}: ${isComplete ? 'none is missing, all are in their order.' : 'some are missing!'}
The sandbox saw ${calls} calls for ${domains.distinct} domains; asked twice after an answer: ${domains.repeated}.`);
  return isComplete ? 0 : 1;
}

/** Starts a worker and resolves when it waits for lookups. */
async function startWorker(name: string, redis: string): Promise<ChildProcess> {
  console.log(`$ brandfill worker --queue …      # worker ${name}`);
  const worker = brandfill([
    'worker',
    `--queue=${redis}`,
    `--base-url=${sandbox.url}`,
    '--concurrency=16',
  ]);
  await new Promise<void>((resolve, reject) => {
    worker.once('exit', (code) => reject(new Error(`Worker ${name} ended with ${code}.`)));
    createInterface({ input: worker.stderr }).on('line', (line) => {
      console.log(`  ${name} | ${line}`);
      if (line.includes('Waiting for lookups')) resolve();
    });
  });
  return worker;
}

/** Starts the run, which looks nothing up itself. */
function enrich(redis: string): ChildProcess {
  console.log('\n$ brandfill enrich accounts.csv --queue … --workers 0\n');
  const run = brandfill([
    'enrich',
    list,
    `--queue=${redis}`,
    '--workers=0',
    `--base-url=${sandbox.url}`,
    `--out=${out}`,
    `--failures=${failures}`,
    `--store=${join(folder, 'store')}`,
  ]);
  run.stderr.pipe(process.stderr, { end: false });
  return run;
}

/** Runs the command as a user would. */
function brandfill(args: readonly string[]): ChildProcessByStdio<null, null, Readable> {
  return keep(
    spawn(process.execPath, [join(project, 'dist/brandfill.js'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        ...process.env,
        BRANDFILL_API_KEY: undefined,
        BRANDFILL_AUTH: undefined,
        NO_PROXY: '*',
      },
    }),
  );
}

function keep<T extends ChildProcess>(child: T): T {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}
