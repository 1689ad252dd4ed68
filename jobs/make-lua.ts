/**
 * Makes `src/worker/shared-pace.lua`, which keeps the pace in Redis, from the TypeScript that keeps
 * it in a process. `npm run make:lua` writes it; `npm run check:lua` says whether it is what would
 * be written.
 *
 * The compiler wants an older TypeScript beside it than ours: npx gets both.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const COMPILER = ['typescript-to-lua@1.37.1', 'typescript@6.0.2'];
const SOURCES = join(import.meta.dirname, '../src');
const FOLDER = join(SOURCES, 'worker');
const ENTRY = 'pace-in-redis.ts';
const NAMES = [
  'pace.ts',
  'climb.ts',
  'pace-starts.ts',
  '../calls/rate.ts',
  'rate.ts',
  'shared-pace.ts',
  ENTRY,
];
const FILE = join(FOLDER, 'shared-pace.lua');

/** Says what it is made from, by whose hash a test sees that it is to be made anew. */
function head(): string {
  const texts = NAMES.map((name) => readFileSync(join(FOLDER, name), 'utf8'));
  const hash = createHash('sha256').update(texts.join('')).digest('hex');
  return `-- Generated from ${NAMES.join(', ')} by npm run make:lua.\n-- sha256 of these: ${hash}\n`;
}

function compile(): string {
  const folder = mkdtempSync(join(tmpdir(), 'make-lua-'));
  const project = join(folder, 'tsconfig.json');
  const compilerOptions = {
    target: 'es2023',
    lib: ['es2023'],
    module: 'esnext',
    moduleResolution: 'bundler',
    types: [],
    strict: true,
    removeComments: true,
    allowImportingTsExtensions: true,
    rewriteRelativeImportExtensions: true,
    rootDir: SOURCES,
    outDir: folder,
  };
  const tstl = {
    luaTarget: '5.1',
    luaLibImport: 'require-minimal',
    luaBundle: 'made.lua',
    luaBundleEntry: join(FOLDER, ENTRY),
    noImplicitSelf: true,
    noHeader: true,
  };
  try {
    writeFileSync(project, JSON.stringify({ files: [tstl.luaBundleEntry], compilerOptions, tstl }));
    const packages = COMPILER.map((name) => `--package=${name}`);
    execFileSync('npx', ['--yes', ...packages, '-c', `tstl --project ${project}`], {
      stdio: ['ignore', process.stderr, process.stderr],
    });
    return readFileSync(join(folder, tstl.luaBundle), 'utf8');
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Redis has no `require`, and wants a value. */
const scriptFrom = (lua: string): string =>
  `local require\n${lua.trim().replace(/return ____entry$/, 'return ____entry.answer()')}\n`;

const made = head() + scriptFrom(compile());
if (process.argv.includes('--check')) {
  if (readFileSync(FILE, 'utf8') !== made) {
    console.error('src/worker/shared-pace.lua is not what its sources make: npm run make:lua');
    process.exitCode = 1;
  }
} else writeFileSync(FILE, made);
