import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, defineConfig, type OutputOptions } from 'rolldown';

/** The page of app, dashboard and report. */
const PAGE = 'src/page/client';

/**
 * What each command needs, and then each run, stand in one file for either, filled while the sources are
 * read. Else each set of commands that need the same has a file, and a run loads some seventy of them.
 */
const START = new Set<string>();
/** What a command needs to know of its options. */
const OPTIONS = new Set<string>();
const RUN = new Set<string>();

export const OUTPUT: OutputOptions = {
  dir: 'dist',
  chunkFileNames: '[name]-[hash].js',
  codeSplitting: {
    groups: [
      { name: 'start', test: (id) => START.has(id), priority: 2 },
      { name: 'options', test: (id) => OPTIONS.has(id), priority: 1 },
      { name: 'run', test: (id) => RUN.has(id) },
    ],
  },
};

const BUNDLED = new Set([
  '@jmespath-community/jmespath',
  'commander',
  'csv-parse',
  'csv-stringify',
  'fastest-levenshtein',
  'ipaddr.js',
  'is-network-error',
  'p-retry',
  'structured-headers',
  'tldts',
  'zod',
]);

/**
 * Few files instead of some five hundred: each one that Node has to find and read costs a start of the
 * command about half a millisecond. Packages that we depend on stay what npm installed, except for small
 * ones that every run needs, and zod, whose hundred files have messages in fifty languages.
 */
export default defineConfig({
  input: { brandfill: 'src/cli/main.ts', index: 'src/index.ts' },
  platform: 'node',
  external: (id) => !/^[./]/.test(id) && !BUNDLED.has(id.replace('/sync', '')),
  output: OUTPUT,
  plugins: [
    {
      name: 'what is needed at once is in one file',
      buildEnd() {
        const add = (needed: Set<string>, id: string): void => {
          if (needed.has(id)) return;
          needed.add(id);
          for (const other of this.getModuleInfo(id)?.importedIds ?? []) add(needed, other);
        };
        add(START, join(process.cwd(), 'src/cli/program.ts'));
        add(START, join(process.cwd(), 'src/cli/report-error.ts'));
        add(OPTIONS, join(process.cwd(), 'src/cli/options.ts'));
        add(RUN, join(process.cwd(), 'src/commands/enrich.ts'));
      },
    },
    {
      // npm makes the command executable when it links it, and links it once: not after the next build.
      name: 'executable command',
      writeBundle: ({ dir = 'dist' }) => chmod(join(dir, 'brandfill.js'), 0o755),
    },
    {
      name: 'page',
      writeBundle: ({ dir = 'dist' }) => buildPage(join(dir, 'client')),
    },
  ],
});

/** Makes the page: one script with the packages that it uses, one style sheet. */
async function buildPage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { resolve } = createRequire(import.meta.url);
  await build({
    input: `${PAGE}/main.tsx`,
    platform: 'browser',
    tsconfig: `${PAGE}/tsconfig.json`,
    output: { file: join(folder, 'main.js'), minify: true },
  });
  const styles = [resolve('uplot/dist/uPlot.min.css'), `${PAGE}/style.css`];
  await writeFile(join(folder, 'style.css'), await joined(styles));
  for (const name of ['index.html', 'icon.svg']) await cp(`${PAGE}/${name}`, join(folder, name));
  // What they ask of those who pass their code on.
  const others = ['preact', '@preact/signals', 'uplot', 'hono', 'tldts-core'];
  const licenses = await Promise.all([...others, ...BUNDLED].map(licenseOf));
  await writeFile(join(folder, 'licenses.txt'), await joined(licenses));
}

async function licenseOf(name: string): Promise<string> {
  const folder = join('node_modules', name);
  const file = (await readdir(folder)).find((one) => /^license(\.md)?$/i.test(one));
  return join(folder, file ?? 'LICENSE');
}

async function joined(files: readonly string[]): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.join('\n');
}
