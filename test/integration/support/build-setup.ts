import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
/** Beneath `node_modules`, so that the built command finds what it imports. */
const BUILDS = join(PROJECT, 'node_modules', '.cache', 'brandfill-test');

/** Another version of a package, and another way to build, make another build. */
const OTHERS = ['package-lock.json', 'rolldown.config.ts', 'test/integration/support/bundle.ts'];

/** Builds the command before the first test, and before each run of them when files are watched. */
export async function setup(project: TestProject): Promise<void> {
  const provideBuild = async (): Promise<void> => {
    const build = await findOrMakeBuild();
    project.provide('build', build);
    // Commands in the process of a test have the page from here: as it is now, not as it was built
    // last.
    await cp(join(build, 'dist/client'), 'dist/client', { recursive: true });
  };
  await provideBuild();
  project.onTestsRerun(provideBuild);
}

/**
 * Makes a build of the sources as they are, unless there is one: `dist` is what `npm run build`
 * makes, `packed` the same with all packages, which starts quickly. Tests start it a hundred times,
 * and through `tsx` each start would take five times as long.
 *
 * @returns the folder of both, kept under a hash of what they are made of: an old one is never used
 */
async function findOrMakeBuild(): Promise<string> {
  const folder = join(BUILDS, await hashOfSources());
  if (!existsSync(folder)) await makeBuild(folder);
  return folder;
}

async function makeBuild(folder: string): Promise<void> {
  await mkdir(BUILDS, { recursive: true });
  const making = await mkdtemp(join(BUILDS, 'making-'));
  try {
    const { bundleInto } = await import('./bundle.ts'); // mostly there is a build
    await bundleInto(making);
  } catch (error) {
    await rm(making, { recursive: true });
    throw error;
  }
  await copyFile(join(PROJECT, 'package.json'), join(making, 'package.json'));
  for (const name of ['apis', 'samples']) {
    await cp(join(PROJECT, name), join(making, name), { recursive: true });
  }
  // Another run of the tests may have been faster; its build is as good.
  await rename(making, folder).catch(() => rm(making, { recursive: true }));
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const names = await readdir(join(PROJECT, 'src'), { recursive: true });
  const sources = names.filter((name) => /\.(tsx?|json|js|html|css|svg)$/.test(name)).sort();
  const apis = (await readdir(join(PROJECT, 'apis'))).sort().map((name) => join('apis', name));
  for (const path of [...sources.map((name) => join('src', name)), ...apis, ...OTHERS]) {
    hash.update(path).update(await readFile(join(PROJECT, path)));
  }
  return hash.digest('hex').slice(0, 16);
}
