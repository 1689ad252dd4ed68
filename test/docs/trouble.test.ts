import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { inFlags } from '../../src/options/options.ts';

const project = join(import.meta.dirname, '../..');
const SOURCES = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(project, 'src', name), 'utf8'))
  .map(inFlags)
  .join('\n');

/** Each message in the first cells of the tables; `…` stands for what differs. */
const MESSAGES = readFileSync(join(project, 'docs/trouble.md'), 'utf8')
  .split('\n')
  .map((line) => /^\| (.*?) \| /.exec(line)?.[1] ?? '')
  .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, message = '']) => message));

it.each(MESSAGES)('docs/trouble.md has a message that exists: %s', (message) => {
  const parts = message.split('…').map((part) => part.trim());
  expect(parts.filter((part) => !SOURCES.includes(part))).toEqual([]);
});
