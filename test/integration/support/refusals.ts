import { expect } from 'vitest';
import type { Ended } from './command.ts';
import type { Folder } from './folder.ts';

/**
 * Exit 2, one sentence, with the place of an expression or where help is below it, no stack trace;
 * what was understood of the input may stand before it.
 */
export function expectRefusal({ code, signal, stdout, stderr }: Ended, expected: RegExp): void {
  const lines = stderr
    // LMDB itself, in C, tells of a full disk too; nobody can keep it from that.
    .replaceAll(/Write error: .*?, size \d+\n?/g, '')
    .replaceAll(/^mdb_.*\n/gm, '')
    .replace(/\n {2}.*\n {2} *\^\n/, '\n')
    .replaceAll(/^.*\n {2}format {3}.*\n/gm, '')
    .replaceAll(/^ {2}(?:domains|rows|unique|invalid|calls|time|cost| {8}) .*\n/gm, '')
    .replaceAll(/^\d+%, .*\n/gm, '')
    .split('\n')
    .filter((line) => !/^$|^\(see brandfill|Did you mean/.test(line));
  expect({ code, signal, stdout }, stderr).toEqual({ code: 2, signal: null, stdout: '' });
  expect(lines).toEqual([expect.stringMatching(expected)]);
  expect(lines[0]).toMatch(/^brandfill: /);
}

/** The files are there as before, and no others. */
export function expectUntouched(folder: Folder, names: readonly string[]): void {
  expect(folder.names()).toEqual([...names].sort());
  for (const name of names.filter((name) => /^(out|list\.(enriched|failures))\.csv$/.test(name))) {
    expect(folder.read(name)).toBe('earlier');
  }
}
