/**
 * The main job from end to end, without a server or an account: starts the sandbox API on a free
 * port, enriches `samples/crm-accounts.csv` with the real command, and shows the result.
 *
 * Run it with `npm run demo`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startSandbox } from '../src/index.ts';

const project = join(import.meta.dirname, '..');
const folder = await mkdtemp(join(tmpdir(), 'brandfill-demo-'));
const out = join(folder, 'crm-accounts.enriched.csv');
const failures = join(folder, 'crm-accounts.failures.csv');

const sandbox = await startSandbox({
  latencyMs: { fromMs: 80, toMs: 900 },
  limit: { count: 20, perMs: 1_000 },
  burst: 5,
  notFound: 0.15,
  errors: 0.1,
  seed: 7,
});
const second = await startSandbox({ seed: 8 });
try {
  console.log(
    `The sandbox API answers on ${sandbox.url}: at most 20 calls/s, some errors, some unknown brands.\n`,
  );
  const exitCode = await brandfill([
    'enrich',
    'samples/crm-accounts.csv',
    `--base-url=${sandbox.url}`,
    `--out=${out}`,
    `--failures=${failures}`,
    `--store=${join(folder, 'store')}`,
    '--fields=name=name,industry=industry,employees=employees,city=location.city',
  ]);
  await show('The first rows of the enriched list', out);
  await show('The first rows that could not be enriched', failures);
  const { calls, domains } = sandbox.stats();
  console.log(
    `The sandbox saw ${calls} calls for ${domains.distinct} domains; asked twice after an answer: ${domains.repeated}.`,
  );
  console.log('\nAnd a second API is asked about what the first does not know:\n');
  await writeFile(
    join(folder, 'two.yaml'),
    `input: ${join(project, 'samples/crm-accounts.csv')}\nout: two.csv\nsources: [{ baseUrl: '${sandbox.url}' }, { baseUrl: '${second.url}' }]\n`,
  );
  process.exitCode = Math.max(exitCode, await brandfill(['run', join(folder, 'two.yaml')]));
} finally {
  await Promise.all([sandbox.close(), second.close()]);
  await rm(folder, { recursive: true });
}

/** Runs the command as a user would, its output going to this terminal. */
async function brandfill(args: readonly string[]): Promise<number> {
  console.log(
    `$ brandfill ${args.slice(0, 3).join(' ').replace('=', ' ')}${args.length > 3 ? ' …' : ''}\n`,
  );
  const child = spawn(process.execPath, [join(project, 'dist/brandfill.js'), ...args], {
    cwd: project,
    stdio: 'inherit',
    env: { ...process.env, BRANDFILL_API_KEY: undefined, BRANDFILL_AUTH: undefined, NO_PROXY: '*' },
  });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function show(title: string, path: string): Promise<void> {
  const lines = (await readFile(path, 'utf8')).split('\n');
  console.log(`\n${title}:\n${lines.slice(0, 5).join('\n')}`);
}
