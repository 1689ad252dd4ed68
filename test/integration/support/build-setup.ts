import type { TestProject } from 'vitest/node';
import { findOrMakeBuild } from './make-build.ts';

/** Builds the command before the first test, and before each run of them when files are watched. */
export async function setup(project: TestProject): Promise<void> {
  const provideBuild = async (): Promise<void> => {
    project.provide('build', await findOrMakeBuild());
  };
  await provideBuild();
  project.onTestsRerun(provideBuild);
}
