import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, Pair, Scalar } from 'yaml';
import { ExpressionError } from '../collector/fields/expression.ts';
import { createField, type Field } from '../collector/fields/fields.ts';
import { BrandfillError, describeSystemError, endSentence } from '../common/errors.ts';
import { isPrintable, printableLines } from '../common/text.ts';
import { shorten } from '../rows/columns/names.ts';

/** Marks a text that is the path of a preset rather than the columns themselves. */
const MARK = '@';

/** The path of a preset, if a text names one: `@brand.yaml`. */
export function presetPathOf(text: string): string | undefined {
  return text.startsWith(MARK) ? text.slice(MARK.length).trim() : undefined;
}

/** The text by which a setting names a preset. */
export function presetAt(path: string): string {
  return MARK + path;
}

/**
 * Reads a set of columns that is kept in a file: YAML or JSON, names with their JMESPath.
 *
 * @throws BrandfillError `INVALID_SETTING` that says where in the file it is wrong
 */
export function readPreset(path: string): readonly Field[] {
  const text = readText(path);
  const { isMap, isScalar, LineCounter, parseDocument } = loadYaml();
  const lines: LineCounter = new LineCounter();
  const doc: Document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const issues = createIssues(path, lines);
  for (const { message, pos } of [...doc.errors, ...doc.warnings].slice(0, 3)) {
    issues.add(pos[0], describeYamlError(message, text.charAt(pos[0])));
  }
  if (doc.errors.length + doc.warnings.length > 0) throw refusal(issues);
  if (!isMap(doc.contents) || doc.contents.items.length === 0) {
    issues.add(0, "expected names with expressions, such as 'city: location.city'");
    throw refusal(issues);
  }
  const fields = doc.contents.items.map(({ key, value }: Pair) => {
    const name = isScalar(key) ? sourceOf(key).trim() : '';
    if (name === '') issues.add(offsetOf(key), 'expected the name of a column');
    else if (isScalar(value) && sourceOf(value).trim() !== '' && value.value !== null) {
      return readField(name, value, { text, issues });
    } else {
      const what = `expected the expression of '${shorten(name)}', such as 'location.city'`;
      issues.add(offsetOf(value ?? key), what);
    }
    return undefined;
  });
  if (issues.count() > 0) throw refusal(issues);
  return fields.filter((field) => field !== undefined);
}

/** Reads one column; notes its mistakes. */
function readField(
  name: string,
  node: Scalar,
  { text, issues }: { readonly text: string; readonly issues: JobFileIssues },
): Field | undefined {
  const expression = sourceOf(node);
  try {
    return createField(name, expression);
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const at = error.cause instanceof ExpressionError ? error.cause.at : 0;
    issues.add(placeIn(node, expression, text) + at, error.message);
    return undefined;
  }
}

/**
 * The place of an expression in the file. If the file spells it differently, the place of the
 * value.
 */
function placeIn(node: Scalar, expression: string, text: string): number {
  const from = offsetOf(node);
  const written = text.slice(from, (node.range?.[1] ?? from) + 1);
  return from + Math.max(0, written.indexOf(expression));
}

/** The text of a scalar as it was written: `no` is a name, not false. */
function sourceOf(node: Scalar): string {
  return typeof node.value === 'string' ? node.value : (node.source ?? String(node.value));
}

function isNode(node: unknown): node is Node {
  return typeof node === 'object' && node !== null;
}

function offsetOf(node: unknown): number {
  return (isNode(node) ? node.range?.[0] : undefined) ?? 0;
}

/** The mistakes, as text to follow the name of the setting. */
function refusal(issues: JobFileIssues): BrandfillError {
  const message = issues.toError()?.message ?? '';
  return new BrandfillError('INVALID_SETTING', message.replace(/^Cannot use /, ''));
}

function readText(path: string): string {
  try {
    const tooLong = findTooLong(statSync(path).size);
    if (tooLong !== undefined) throw new Error(tooLong);
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `cannot read the preset ${path === '' ? 'without a name' : path}: ${describeSystemError(error)}`,
      { cause: error },
    );
  }
}

/** The facts of a trial that go into the preset. */
interface PresetSource {
  readonly domain: string;
  /** As ISO 8601. */
  readonly fetchedAt: string | undefined;
  readonly columns: readonly {
    readonly name: string;
    readonly expression: string | undefined;
  }[];
}

/** The columns of a trial as a preset, with a comment that says where they come from. */
export function formatPreset(
  { domain, columns, fetchedAt = '' }: PresetSource,
  prefix: string,
): string {
  const { Scalar, stringify } = loadYaml();
  const toScalar = (text: string): Scalar => {
    const scalar = new Scalar(text);
    // Between double quotes YAML knows the same escapes as JSON.
    if (!isPrintable(text)) scalar.type = 'QUOTE_DOUBLE';
    return scalar;
  };
  const kept = columns.filter(({ expression }) => expression !== undefined);
  const fields = kept.map(
    ({ name, expression = '' }) =>
      [toScalar(name.slice(prefix.length)), toScalar(expression)] as const,
  );
  const day = fetchedAt.slice(0, 10);
  const comment = `# Columns as ${domain} had them on ${day}, for --fields @FILE. NAME: JMESPath\n`;
  const more =
    kept.length < columns.length
      ? '# There is more in the answer: see brandfill try --json.\n'
      : '';
  return comment + more + printableLines(stringify(new Map(fields), { lineWidth: 0 }));
}

/**
 * Loaded only when needed: settings are read at every start, and the help should not wait for it.
 */
function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml') as typeof import('yaml');
}

/** Collects the mistakes of a job file and their places, to report all of them at once. */
export interface JobFileIssues {
  /** @param offset the place in the text, in characters from its beginning */
  add(offset: number, message: string): void;
  /** The number of mistakes so far. */
  count(): number;
  /** `jobs/nightly.yaml:3:8`. */
  placeOf(offset: number): string;
  /** All mistakes in the order of the file; undefined when there are none. */
  toError(): BrandfillError | undefined;
}

export function createIssues(file: string, lines: LineCounter): JobFileIssues {
  const noted: { readonly offset: number; readonly message: string }[] = [];
  const placeOf = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };
  return {
    add: (offset, message) => noted.push({ offset, message }),
    count: () => noted.length,
    placeOf,
    toError: () => {
      const messages = noted
        .toSorted((a, b) => a.offset - b.offset)
        .map(({ offset, message }) => `${placeOf(offset)}: ${message}`);
      if (messages.length === 0) return undefined;
      const text =
        messages.length === 1
          ? endSentence(`Cannot use ${messages[0]}`)
          : `Cannot use ${file}: ${messages.length} things are wrong.\n  ${indented(messages).join('\n  ')}`;
      return new BrandfillError('INVALID_SETTING', text);
    },
  };
}

/** Indents messages, so that those of several lines can be told apart. */
function indented(messages: readonly string[]): readonly string[] {
  return messages.map((message) => message.replaceAll('\n', '\n  '));
}

/** Longer than any job file or preset; a longer file is a list that was given in its place. */
const MOST_BYTES = 1_000_000;

/** Why a file of this size is not read; undefined when it is read. */
export function findTooLong(sizeBytes: number): string | undefined {
  return sizeBytes > MOST_BYTES ? 'it is longer than a megabyte' : undefined;
}

/**
 * The message of the YAML parser about a mistake. Cuts off the piece of the file that some messages
 * end in: it may be a credential.
 *
 * @param begin the character at the position of the mistake
 */
export function describeYamlError(message: string, begin: string): string {
  const hint = /[-@`*&!%|>]/.test(begin)
    ? `; what begins with ${begin} goes in quotes`
    : /[{}]/.test(begin)
      ? '; between { and }, a text that has one of them goes in quotes'
      : '';
  return message.replace(/(: ".*|\n.*)$/s, '') + hint;
}
