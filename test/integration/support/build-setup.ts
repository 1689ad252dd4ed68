import { builtCommand } from './build.ts';

/** Builds the command before the first test, so that test files that start together do not do it twice. */
export async function setup(): Promise<void> {
  await builtCommand();
}
