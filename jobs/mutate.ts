// Breaks the lines of the pure cores, one at a time, and shows each break that no test sees.
//
//   npm run mutate                            all of them, which takes an hour or two
//   npm run mutate -- src/calls/budget.ts      some files, or 'src/worker/pace.ts:100-140'
//   npm run mutate -- --since main            the lines that have changed since a commit
//
// Which files are cores, and what is broken in them, is in stryker.config.json. Texts and objects
// are left as they are: without a key or with another literal, most of them are errors of type
// already.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { z } from 'zod';

const STRYKER = 'node_modules/@stryker-mutator/core/bin/stryker.js';
const HUNK = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/;

const patterns = readPatterns();
const [option, commit = 'main'] = process.argv.slice(2);
const targets = option === '--since' ? changedSince(commit) : process.argv.slice(2);
if (option === '--since' && targets.length === 0) {
  console.log(`No line of the cores has changed since ${commit}: nothing to break.`);
} else {
  if (option === '--since')
    console.log(`Breaks what has changed since ${commit}: ${targets.join(' ')}`);
  const mutate = targets.length > 0 ? ['--mutate', targets.join(',')] : [];
  const { status } = spawnSync(process.execPath, [STRYKER, 'run', ...mutate], { stdio: 'inherit' });
  process.exitCode = status ?? 1;
}

/** The cores, as patterns of Git, which know no braces. A pattern without a file is out of date. */
function readPatterns(): readonly string[] {
  const { mutate } = z
    .object({ mutate: z.array(z.string()) })
    .parse(JSON.parse(readFileSync('stryker.config.json', 'utf8')));
  const found = mutate.flatMap(withoutBraces);
  for (const pattern of found) {
    if (git('ls-files', '--', `:(glob)${pattern}`) !== '') continue;
    throw new Error(`stryker.config.json: there is no file ${pattern}; name where it is now`);
  }
  return found.map((pattern) => `:(glob)${pattern}`);
}

/** The lines of the cores that differ from a commit, as `file:first-last`. */
function changedSince(since: string): string[] {
  const ranges: string[] = [];
  let file = '';
  for (const line of git('diff', '--unified=0', '--no-prefix', since, '--', ...patterns).split(
    '\n',
  )) {
    if (line.startsWith('+++ ')) file = line.slice('+++ '.length);
    const [, first = '', count = '1'] = HUNK.exec(line) ?? [];
    if (first === '' || count === '0') continue;
    ranges.push(`${file}:${first}-${Number(first) + Number(count) - 1}`);
  }
  return ranges;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' });
}

function withoutBraces(pattern: string): string[] {
  const [, before = '', words, after = ''] = /^(.*)\{(.*)\}(.*)$/.exec(pattern) ?? [];
  return words === undefined ? [pattern] : words.split(',').map((word) => before + word + after);
}
