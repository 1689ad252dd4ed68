import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { findOrMakeBuild } from './make-build.ts';

/** Builds the command before the first test, and before each run of them when files are watched. */
export async function setup(project: TestProject): Promise<void> {
  const provideBuild = async (): Promise<void> => {
    const build = await findOrMakeBuild();
    project.provide('build', build);
    // Commands in the process of a test have the page from here: as it is now, not as it was built last.
    await cp(join(build, 'dist/client'), 'dist/client', { recursive: true });
  };
  await provideBuild();
  project.onTestsRerun(provideBuild);
}
