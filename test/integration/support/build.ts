import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROJECT = fileURLToPath(new URL('../../..', import.meta.url));
/** Beneath `node_modules`, so that the built command finds what it imports. */
const BUILDS = join(PROJECT, 'node_modules', '.cache', 'brandfill-test');

/**
 * Builds the command once for the sources as they are and gives the path of its main file. A build
 * is kept under a hash of the sources, so that test files that start at the same time share it and
 * an old one is never used. Through `tsx` each start would take three times as long.
 */
export function builtCommand(): Promise<string> {
  built ??= findOrMakeBuild();
  return built;
}

let built: Promise<string> | undefined;

async function findOrMakeBuild(): Promise<string> {
  const build = join(BUILDS, await hashOfSources());
  if (!existsSync(build)) await makeBuild(build);
  return join(build, 'dist', 'brandfill.js');
}

async function makeBuild(build: string): Promise<void> {
  await mkdir(BUILDS, { recursive: true });
  const making = await mkdtemp(join(BUILDS, 'making-'));
  const bundler = join(PROJECT, 'node_modules', '.bin', 'rolldown');
  try {
    const args = ['--config', '--dir', join(making, 'dist')];
    await promisify(execFile)(bundler, args, { cwd: PROJECT });
  } catch (error) {
    await rm(making, { recursive: true });
    throw error;
  }
  await copyFile(join(PROJECT, 'package.json'), join(making, 'package.json'));
  // Another test file may have been faster; its build is as good.
  await rename(making, build).catch(() => rm(making, { recursive: true }));
}

async function hashOfSources(): Promise<string> {
  const hash = createHash('sha256');
  const folder = join(PROJECT, 'src');
  const names = await readdir(folder, { recursive: true });
  for (const name of names.filter((name) => /\.(ts|json|js|html|css|svg)$/.test(name)).sort()) {
    hash.update(name).update(await readFile(join(folder, name)));
  }
  return hash.digest('hex').slice(0, 16);
}
