import { chmod, cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { build, defineConfig, type OutputOptions } from 'rolldown';
import { z } from 'zod';
import { plainText } from './src/options/kinds.ts';
import { metaOf, type Options, option } from './src/options/option.ts';
import { OPTIONS as ALL_OPTIONS, SOURCE, STATUS_OPTIONS } from './src/options/options.ts';

/** The page of app, dashboard and report. */
const PAGE = 'src/page/client';

/**
 * What each command needs, and then each run, stand in one file for either, filled while the
 * sources are read. Else each set of commands that need the same has a file, and a run loads some
 * seventy of them.
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

/** An option, as a member of a table of options. */
export const MEMBER = /^( +)(\w+): (?:import\("zod"\)|z\.)/gm;
const DESCRIBED: Options = {
  ...SOURCE,
  ...ALL_OPTIONS,
  ...STATUS_OPTIONS,
  apiKey: option(plainText(), { help: 'the credential' }),
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
 * Few files instead of some five hundred: each one that Node has to find and read costs a start of
 * the command about half a millisecond. Packages that we depend on stay what npm installed, except
 * for small ones that every run needs, and zod, whose hundred files have messages in fifty
 * languages.
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
        add(RUN, join(process.cwd(), 'src/api/enrich.ts'));
      },
    },
    {
      // npm makes the command executable when it links it, and links it once: not after the next
      // build.
      name: 'executable command',
      writeBundle: ({ dir = 'dist' }) => chmod(join(dir, 'brandfill.js'), 0o755),
    },
    {
      name: 'script of Redis',
      writeBundle: ({ dir = 'dist' }) =>
        cp('src/worker/shared-pace.lua', join(dir, 'shared-pace.lua')),
    },
    {
      name: 'page, and the licences of all that is bundled',
      async writeBundle({ dir = 'dist' }) {
        const ids = [...this.getModuleIds(), ...(await buildPage(join(dir, 'client')))];
        await writeFile(join(dir, 'licenses.txt'), await licensesOf(ids));
      },
    },
    {
      name: 'descriptions of options',
      writeBundle: ({ dir = 'dist' }) => describeOptions(dir),
    },
  ],
});

/**
 * Makes the page: one script with the packages that it uses, one style sheet. Returns what it is
 * made of.
 */
async function buildPage(folder: string): Promise<string[]> {
  await mkdir(folder, { recursive: true });
  const { resolve } = createRequire(import.meta.url);
  const { output } = await build({
    input: `${PAGE}/main.tsx`,
    platform: 'browser',
    tsconfig: `${PAGE}/tsconfig.json`,
    output: { file: join(folder, 'main.js'), minify: true },
  });
  const styles = [resolve('uplot/dist/uPlot.min.css'), `${PAGE}/style.css`];
  const texts = await Promise.all(styles.map((file) => readFile(file, 'utf8')));
  await writeFile(join(folder, 'style.css'), texts.join('\n'));
  for (const name of ['index.html', 'icon.svg']) await cp(`${PAGE}/${name}`, join(folder, name));
  return [...output.flatMap((one) => ('moduleIds' in one ? one.moduleIds : [])), ...styles];
}

/** `npm run check:package` refuses it. */
export const NO_LICENSE = 'The package has no file with its licence.';

/** The licences of the packages that these modules are of, which want to go with their code. */
async function licensesOf(modules: readonly string[]): Promise<string> {
  const folders = modules.flatMap(
    (id) => /^.*\/node_modules\/(@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? [],
  );
  const texts = await Promise.all(
    [...new Set(folders)].sort().map(async (folder) => {
      const { name, version, license } = JSON.parse(
        await readFile(join(folder, 'package.json'), 'utf8'),
      ) as Record<string, string>;
      const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
      const text = file === undefined ? NO_LICENSE : await readFile(join(folder, file), 'utf8');
      return `${name} ${version} (${license})\n\n${text.trim()}\n`;
    }),
  );
  return texts.join(`\n${'-'.repeat(80)}\n\n`);
}

/** Puts what the help says of an option into the types, where editors show it. */
async function describeOptions(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true });
  for (const name of names.filter((one) => one.endsWith('.d.ts'))) {
    const file = join(folder, name);
    const types = await readFile(file, 'utf8');
    const described = types.replaceAll(MEMBER, (line, indent: string, key: string, at: number) => {
      const { help, default: value } = metaOf(DESCRIBED[key] ?? z.never());
      if (help === undefined || types.slice(0, at).endsWith('*/\n')) return line;
      const ending = value === undefined ? '' : ` @default ${value}`;
      return `${indent}/** ${help[0]?.toUpperCase()}${help.slice(1)}.${ending} */\n${line}`;
    });
    if (described !== types) await writeFile(file, described);
  }
}
