import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Makes an empty folder that is gone when the test ends. */
export function useTempFolder(parent: string = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'brandfill-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
