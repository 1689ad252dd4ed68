import { chmod, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, defineConfig, type OutputOptions } from 'rolldown';

/** What the browser gets of the dashboard, as it is; types and settings of the compiler stay behind. */
const PAGE = 'src/web/page';
/** The page of `brandfill app`. It shows runs with the dashboard's card, and so has its styles too. */
const APP_PAGE = 'src/web/app-page';
const APP_STYLES = [
  `${PAGE}/tokens.css`,
  `${PAGE}/run-card.css`,
  `${APP_PAGE}/style.css`,
  `${APP_PAGE}/controls.css`,
];

/**
 * What each command needs, and then each run, stand in one file for either, filled while the sources are
 * read. Else each set of commands that need the same has a file, and a run loads some seventy of them.
 */
const START = new Set<string>();
const RUN = new Set<string>();

export const OUTPUT: OutputOptions = {
  dir: 'dist',
  chunkFileNames: '[name]-[hash].js',
  codeSplitting: {
    groups: [
      { name: 'start', test: (id) => START.has(id), priority: 1 },
      { name: 'run', test: (id) => RUN.has(id) },
    ],
  },
};

/**
 * Few files instead of some five hundred: each one that Node has to find and read costs a start of the
 * command about half a millisecond. Packages that we depend on stay what npm installed.
 */
export default defineConfig({
  input: { brandfill: 'src/cli/main.ts', index: 'src/index.ts' },
  platform: 'node',
  external: (id) => !/^[./]/.test(id),
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
        add(RUN, join(process.cwd(), 'src/commands/enrich.ts'));
      },
    },
    {
      // npm makes the command executable when it links it, and links it once: not after the next build.
      name: 'executable command',
      writeBundle: ({ dir = 'dist' }) => chmod(join(dir, 'brandfill.js'), 0o755),
    },
    {
      name: 'page of the dashboard',
      writeBundle: async ({ dir = 'dist' }) => {
        const isServed = (path: string): boolean => !/\.(d\.ts|json)$/.test(path);
        await cp(PAGE, join(dir, 'page'), { recursive: true, filter: isServed });
      },
    },
    {
      name: 'page of the app',
      writeBundle: ({ dir = 'dist' }) => buildAppPage(join(dir, 'app-page')),
    },
  ],
});

/** Makes the page of the app: one script with the packages that it uses, one style sheet. */
async function buildAppPage(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const { resolve } = createRequire(import.meta.url);
  await build({
    input: `${APP_PAGE}/main.tsx`,
    platform: 'browser',
    tsconfig: `${APP_PAGE}/tsconfig.json`,
    // The dashboard loads the chart beside its own files, as they are.
    plugins: [
      {
        name: 'the chart from its package',
        resolveId: (id) => (id === './uplot.js' ? resolve('uplot/dist/uPlot.esm.js') : null),
      },
    ],
    output: { file: join(folder, 'main.js'), minify: true },
  });
  const styles = [resolve('uplot/dist/uPlot.min.css'), ...APP_STYLES];
  await writeFile(join(folder, 'style.css'), await joined(styles));
  await cp(`${APP_PAGE}/index.html`, join(folder, 'index.html'));
  await cp(`${PAGE}/icon.svg`, join(folder, 'icon.svg'));
  // What they ask of those who pass their code on.
  const licenses = ['preact', '@preact/signals', 'uplot'].map((name) =>
    join('node_modules', name, 'LICENSE'),
  );
  await writeFile(join(folder, 'licenses.txt'), await joined(licenses));
}

async function joined(files: readonly string[]): Promise<string> {
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8')));
  return texts.join('\n');
}
