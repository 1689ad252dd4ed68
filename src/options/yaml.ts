import { createRequire } from 'node:module';
import type { Document, LineCounter, Node, Pair } from 'yaml';
import { z } from 'zod';
import { describeSystemError, refusal } from '../common/errors.ts';
import { readSmallFile } from '../common/files.ts';
import { findNearest, shortenTo } from '../common/text.ts';

/** The way to a value: keys of maps and places in lists. */
type Path = readonly PropertyKey[];

/**
 * Reads the text of a YAML or JSON file. What is wrong in it is collected, each with its place.
 *
 * @param prepare changes the document before its values are read
 */
export function readYaml(
  file: string,
  text: string,
  prepare?: (doc: Document, noteAt: (offset: number, message: string) => void) => void,
) {
  const { isMap, isScalar, LineCounter, parseDocument, visit } = loadYaml();
  const lines = new LineCounter();
  const excess = findExcess(text, lines);
  const doc: Document = parseDocument(excess ? '' : text, { prettyErrors: false });
  const noted: { readonly offset: number; readonly message: string }[] = excess ? [excess] : [];
  const noteAt = (offset: number, message: string): void => void noted.push({ offset, message });
  const noteIn = (offsetOf: () => number, message: string): void => {
    if (noted.length < MOST_NOTED) noteAt(offsetOf(), message);
  };
  const nodeAt = (path: Path): Node | undefined =>
    (path.length === 0 ? doc.contents : doc.getIn(path, true)) as Node | undefined;
  const offsetOf = (path: Path): number =>
    nodeAt(path)?.range?.[0] ?? (path.length === 0 ? 0 : offsetOf(path.slice(0, -1)));
  const offsetOfKey = (path: Path, key: string): number => {
    const map = nodeAt(path);
    const isIt = ({ key: name }: Pair): boolean => isScalar(name) && String(name.value) === key;
    const pair = isMap(map) ? map.items.find(isIt) : undefined;
    return (pair?.key as Node | undefined)?.range?.[0] ?? offsetOf(path);
  };
  const placeAt = (offset: number): string => {
    const { line, col } = lines.linePos(offset);
    return `${file}:${Math.max(line, 1)}:${Math.max(col, 1)}`;
  };

  // Most errors after the first ones only follow from them.
  for (const { message, pos } of [...doc.errors, ...doc.warnings].slice(0, 3)) {
    noteAt(pos[0], describeYamlError(message, text.charAt(pos[0])));
  }
  visit(doc, {
    Pair: (_, { key }) => {
      if (!isScalar(key) || key.value !== '__proto__') return;
      noteAt(key.range?.[0] ?? 0, "there is no key '__proto__'");
    },
  });
  let value: unknown;
  if (noted.length === 0) {
    prepare?.(doc, noteAt);
    try {
      value = doc.toJS();
    } catch (error) {
      // An anchor that leads nowhere, or to so much that nobody wrote it.
      noteAt(0, error instanceof Error ? error.message : String(error));
    }
  }

  return {
    /** What stands in it; undefined when it is no YAML. */
    value,
    /**
     * `jobs/nightly.yaml:3:8`, where a value begins; of one that is not there, the map that it
     * belongs in.
     */
    placeOf: (path: Path): string => placeAt(offsetOf(path)),
    /** Notes a mistake at a value. */
    note: (path: Path, message: string): void => noteIn(() => offsetOf(path), message),
    /**
     * Reads a value of the file by a schema, and notes what is wrong with it. No value is shown: it
     * may be a credential.
     *
     * @param given what became of what stands in it. @default that itself
     */
    check<T>(schema: z.ZodType<T>, given: unknown = value): T | undefined {
      const { data, error } = schema.safeParse(given);
      for (const { path, key, message } of mistakesIn(schema, error)) {
        noteIn(() => (key === undefined ? offsetOf(path) : offsetOfKey(path, key)), message);
      }
      return data;
    },
    /**
     * All mistakes, in the order of the file, without a verb in front; undefined when there are
     * none.
     */
    problem(): string | undefined {
      const messages = noted
        .toSorted((a, b) => a.offset - b.offset)
        .map(({ offset, message }) => `${placeAt(offset)}: ${message}`);
      if (messages.length < 2) return messages[0];
      const below = messages.map((message) => `\n  ${message.replaceAll('\n', '\n  ')}`);
      const count = messages.length < MOST_NOTED ? messages.length : `${MOST_NOTED} or more`;
      return `${file}: ${count} things are wrong.${below.join('')}`;
    },
  };
}

/** Kinds of values, as people call them who write YAML. */
const KINDS: Readonly<Partial<Record<string, string>>> = {
  object: 'keys with values',
  record: 'keys with values',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
  number: 'a number',
};

/** A message of a schema in the words of people who write YAML. */
function inWords(message: string): string {
  return message
    .replace(/^Invalid (?:input|option): /, '')
    .replace(/^expected \w+, received undefined$/, 'it is missing')
    .replaceAll(/(?<=^expected |, received )\w+(?=, received |$)/g, (one) => KINDS[one] ?? one)
    .replaceAll('"|"', '", "');
}

/** What a schema finds wrong, in words for people, and the key that is not known, if it is one. */
function* mistakesIn(schema: z.ZodType, error: z.ZodError | undefined) {
  for (const issue of error?.issues ?? []) {
    const { path } = issue;
    if (issue.code !== 'unrecognized_keys') {
      const key = path.findLast((step) => typeof step === 'string');
      const message = inWords(issue.message);
      yield { path, key: undefined, message: key === undefined ? message : `${key}: ${message}` };
      continue;
    }
    const known = keysIn(schema);
    for (const key of issue.keys.slice(0, MOST_NOTED)) {
      const message = `there is no key '${shortenTo(key, 60)}'${hintOn(key, known)}`;
      yield { path, key, message };
    }
  }
}

/** Who has more to mend sees the rest when these are mended. */
const MOST_NOTED = 20;
/** No file that is written by hand is nested as deep, or has as many names, values and signs. */
const DEEPEST = 100;
const MOST_TOKENS = 20_000;

/**
 * Looks for more than a reader of YAML can take: it goes as deep as the file, which ends the
 * process.
 *
 * @param lines is told where each line begins
 */
function findExcess(text: string, lines: LineCounter) {
  const { Lexer, Parser } = loadYaml();
  const parser = new Parser(lines.addNewLine);
  lines.addNewLine(0);
  let tokens = 0;
  for (const token of new Lexer().lex(text)) {
    Array.from(parser.next(token));
    const { offset, stack } = parser;
    tokens += 1;
    if (stack.length > DEEPEST) return { offset, message: 'it is nested too deep' };
    if (tokens > MOST_TOKENS) return { offset, message: 'here is more than any such file has' };
  }
  return undefined;
}

/** What may be meant by a key that is not known where it stands. */
function hintOn(key: string, known: ReadonlyMap<string, string>): string {
  const place = known.get(key);
  if (place !== undefined)
    return place === '' ? ' here; it stands at the top' : ` here; it stands in '${place}'`;
  const meant = findNearest(key, [...known.keys()]);
  return meant === undefined ? '' : `; did you mean '${meant}'?`;
}

/** The keys of all maps that a schema has, and under which key each stands first. */
function keysIn(schema: z.ZodType): ReadonlyMap<string, string> {
  const keys = new Map<string, string>();
  const walk = (part: unknown, place: string): void => {
    if (typeof part !== 'object' || part === null) return;
    for (const [name, inner] of Object.entries(part)) {
      if (name !== 'properties') walk(inner, place);
      else {
        for (const [key, value] of Object.entries(inner as object)) {
          if (!keys.has(key)) keys.set(key, place);
          walk(value, key);
        }
      }
    }
  };
  walk(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }), '');
  return keys;
}

/**
 * The message of the YAML parser about a mistake. Cuts off the piece of the file that some messages
 * end in: it may be a credential.
 *
 * @param begin the character at the position of the mistake
 */
function describeYamlError(message: string, begin: string): string {
  const hint = /[-@`*&!%|>]/.test(begin)
    ? `; what begins with ${begin} goes in quotes`
    : /[{}]/.test(begin)
      ? '; between [ and ] or { and }, a text that has one of them goes in quotes'
      : '';
  return message.replace(/(: ".*|\n.*)$/s, '') + hint;
}

/**
 * Longer than any file that is written by hand; a longer one is a list that was given in its place.
 */
const MOST_BYTES = 1_000_000;

/**
 * Reads the text of a file that is written by hand.
 *
 * @param what what it should be, such as `the profile`
 * @throws BrandfillError `INVALID_SETTING`, to follow the name of the setting that named it
 */
export function readText(file: string, what: string): string {
  try {
    const text = readSmallFile(file, MOST_BYTES);
    if (text === undefined) throw new Error('it is longer than a megabyte');
    // What stands for bytes that are none of it.
    if (text.includes('\uFFFD')) throw new Error('it is not in UTF-8; save it as UTF-8');
    return text.replace(/^\uFEFF/, '');
  } catch (error) {
    const message = `cannot read ${what} ${file}: ${describeSystemError(error)}`;
    throw refusal(message, error);
  }
}

/**
 * Loaded only when needed: settings are read at every start, and the help should not wait for it.
 */
export function loadYaml(): typeof import('yaml') {
  return createRequire(import.meta.url)('yaml') as typeof import('yaml');
}
