import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

let folder = '';
let before: string | undefined;

const NAME = 'bf-tests-';

/**
 * Puts the temporary files of all tests into one folder, which goes away when they end. Its path is
 * short: Chromium opens a Unix socket in it, whose path may have some hundred characters.
 */
export function setup(): void {
  before = process.env['TMPDIR'];
  // Each project sets it up. One folder will do.
  if (basename(before ?? '').startsWith(NAME)) return;
  folder = mkdtempSync(join(tmpdir(), NAME));
  process.env['TMPDIR'] = folder;
}

export function teardown(): void {
  if (folder === '') return;
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  rmSync(folder, { recursive: true, force: true });
}
