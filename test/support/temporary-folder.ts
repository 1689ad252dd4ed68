import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

let folder = '';
let before: string | undefined;

/** Puts the temporary files of all tests into one folder, which goes away when they end. */
export function setup(): void {
  before = process.env['TMPDIR'];
  folder = mkdtempSync(join(tmpdir(), 'brandfill-tests-'));
  process.env['TMPDIR'] = folder;
}

export function teardown(): void {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  rmSync(folder, { recursive: true, force: true });
}
