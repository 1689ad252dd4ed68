/**
 * Whether a regular expression of the sources takes more than linear time: what an API, a list or a
 * browser writes could then hang the process. Each literal is tried by recheck, which finds a text
 * that hangs it.
 *
 * Run by `npm run check:expressions`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { check } from 'recheck';
import { parseAst } from 'rolldown/parseAst';

/** Expressions that may take longer, by their sources, and why no text does any harm to them. */
const HARMLESS: Readonly<Record<string, string>> = {
  [/\B(?=(?:\d{3})+$)/.source]: 'a number of ours',
  [/^(\d+)\.(\d\d)(\d*?)0*$/.source]: 'a number of ours',
  [/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/.source]: 'JSON that was parsed',
  [/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/.source]: 'JSON that was parsed',
  [/'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/.source]: 'what a user asks for',
  [/sentinel.*(NOAUTH|WRONGPASS)/.source]: 'the first 1,000 characters of an error',
  [/No such master|sentinel.*invalid reply/.source]: 'the first 1,000 characters of an error',
  [/(?:no permissions to|script can't) (.+?)(?: script: |$)/.source]:
    'the first 1,000 characters of an error',
  [/[\p{L} .&-]{0,20}[^\p{ASCII}][\p{L} .&-]{0,20}/u.source]: '441 steps for a character at most',
  [/\[[^\]]*\]|general|am\/pm|a\/p/.source]: 'the 255 characters of a format',
};

/** Without bounds in time, so that a busy machine finds the same. */
const IN_FULL = {
  timeout: null,
  seedingTimeout: null,
  incubationTimeout: null,
  recallTimeout: null,
  attackTimeout: null,
} as const;

interface Found {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

/** All literals of a file. */
function expressionsIn(file: string): readonly Found[] {
  const text = readFileSync(file, 'utf8');
  const found: Found[] = [];
  const ast: unknown = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file);
  JSON.stringify(ast, (_, node: unknown) => {
    if (typeof node === 'object' && node !== null && 'regex' in node && 'start' in node) {
      const { pattern, flags } = node.regex as { readonly pattern: string; readonly flags: string };
      const line = text.slice(0, Number(node.start)).split('\n').length;
      found.push({ place: `${file}:${line}`, source: pattern, flags });
    }
    return typeof node === 'bigint' ? String(node) : node;
  });
  return found;
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
const all = files.filter((name) => /\.tsx?$/.test(name)).map((name) => join('src', name));
const expressions = all.flatMap(expressionsIn);
const unused = new Set(Object.keys(HARMLESS));
const inTurn = pLimit(availableParallelism());
const tried = expressions.map(async ({ place, source, flags }) => {
  if (source in HARMLESS) {
    unused.delete(source);
    return true;
  }
  const found = await inTurn(() => check(source, flags, IN_FULL));
  if (found.status === 'safe') return true;
  const why =
    found.status === 'vulnerable'
      ? `${found.complexity.summary}, as with ${found.attack.pattern}`
      : `not known: ${found.error.kind}`;
  console.error(`${place}: /${source}/${flags} takes ${why}`);
  return false;
});
const slow = (await Promise.all(tried)).filter((isSafe) => !isSafe).length;
for (const source of unused)
  console.error(`/${source}/ is called harmless, and nowhere to be found`);
console.log(`${expressions.length} regular expressions, ${slow} of them not in linear time`);
process.exitCode = slow + unused.size > 0 ? 1 : 0;
