/**
 * Whether what is published works by itself: packs it, runs it from the archive in an empty folder,
 * installs it in another without what only developers need, and enriches a list, a workbook and
 * JSON lines there with the installed command. Each option is described in its types.
 *
 * Run by `npm run check:package`; needs the npm registry, or what `npm ci` left in the cache of
 * npm.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MEMBER, NO_LICENSE } from '../rolldown.config.ts';

const project = join(import.meta.dirname, '..');
const folder = mkdtempSync(join(tmpdir(), 'brandfill-package-'));

const lists = ['crm-accounts.csv', 'crm-export.xlsx', 'companies.jsonl'];
/** Enriches the lists with what `import 'brandfill'` gives. */
const program = `
import { enrich, startSandbox } from 'brandfill';
const sandbox = await startSandbox({});
for (const list of process.argv.slice(2)) {
  const { rows, statuses } = await enrich({ input: list, baseUrl: sandbox.url, store: 'store' });
  console.log(list + ': ' + statuses.found + ' of ' + rows + ' rows found');
}
await sandbox.close();
`;

function run(command: string, args: readonly string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

/**
 * Options without a description in the types of the command, or of the library, which editors show.
 */
function undescribed(): string[] {
  return ['dist/options/options.d.ts', 'dist/api/enrich.d.ts'].flatMap((file) => {
    const lines = readFileSync(join(project, file), 'utf8').split('\n');
    return lines
      .filter((line, at) => line.search(MEMBER) >= 0 && !lines[at - 1]?.includes('*/'))
      .map((line) => `no description in ${file}: ${line.trim().slice(0, 40)}`);
  });
}

try {
  run('npm', ['run', '--silent', 'build'], project);
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], project),
  ) as { filename: string }[];
  if (!packed) throw new Error('npm packed nothing');
  const faults = undescribed();
  if (readFileSync(join(project, 'dist/licenses.txt'), 'utf8').includes(NO_LICENSE))
    faults.push('dist/licenses.txt lacks the licence of a package that is bundled');
  if (faults.length > 0) throw new Error(`In the package:\n  ${faults.join('\n  ')}`);
  mkdirSync(join(folder, 'empty'));
  const help = run(
    'npx',
    ['--yes', '--prefer-offline', `../${packed.filename}`, '--help'],
    join(folder, 'empty'),
  );
  console.log(`npx ${packed.filename} --help: ${help.split('\n')[0]}`);
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'program.js'), program);
  for (const list of lists) cpSync(join(project, 'samples', list), join(folder, list));
  const alone = ['--omit=dev', '--engine-strict', '--prefer-offline'];
  run('npm', ['install', '--silent', ...alone, packed.filename], folder);
  console.log(`installed ${run('npx', ['brandfill', '--version'], folder).trim()}`);
  process.stdout.write(run(process.execPath, ['program.js', ...lists], folder));
} finally {
  rmSync(folder, { recursive: true });
}
