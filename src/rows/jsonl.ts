import { createRequire } from 'node:module';
import type { Node, ParseError } from 'jsonc-parser';
import { BrandfillError } from '../common/errors.ts';
import { isTooDeep } from '../common/text.ts';
import { textOfCell } from './csv/csv-writer.ts';
import type {
  ByteSource,
  ByteWriter,
  CellValue,
  FilledRow,
  RowColumn,
  RowFiller,
  RowFormat,
  RowWriter,
  ScannedRow,
} from './row-format.ts';
import { describeText, type Source } from './source.ts';

const SAMPLE_ROWS = 200;
/** No real row is this long; it bounds the memory that one line may take. */
const MAX_LINE_BYTES = 32 * 1024 * 1024;
const LINE_FEED = 0x0a;

/**
 * Reads the columns of a JSONL file from its first rows.
 *
 * @param prefix names that begin with it are remembered while scanning, because our own columns
 * begin with it
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no row or the first is no object.
 */
export function openJsonl(source: Source, prefix: string): RowFormat {
  const rows = readSample(source);
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const takenNames = new Set(columns);

  return {
    kind: 'jsonl',
    extension: '.jsonl',
    description: describeText('JSONL', source),
    columns,
    sampleRows: rows.map((row) => columns.map((name) => textIn(row, name))),
    headBytes: 0,
    isTable: false,
    takenNames,
    scan: (input, domainColumn, others = []) =>
      scan(input, { domainColumn: domainColumn.name, others }, (row) => {
        for (const name in row) if (name.startsWith(prefix)) takenNames.add(name);
        if (Object.hasOwn(row, domainColumn.name)) takenNames.add(domainColumn.name);
        for (const { name } of others) if (Object.hasOwn(row, name)) takenNames.add(name);
      }),
    createWriter: (added) => createJsonlWriter(added),
    createFiller: createJsonlFiller,
    ownPart: (raw, { name }) => cutMembers(raw, name),
    textOf: (value) => (value === undefined ? '' : JSON.stringify(value)),
    toObject: (raw) => JSON.parse(raw) as Record<string, unknown>,
  };
}

/**
 * Adds members to objects without touching the rest: numbers, escapes and the order of members stay
 * as they are.
 */
function createJsonlWriter(names: readonly string[]): RowWriter {
  const membersOf = (added: readonly CellValue[]): string =>
    added
      .map((value, at) => member(names[at], value))
      .filter((text) => text !== undefined)
      .join(',');
  return {
    header: '',
    row: (raw, _fields, added) => {
      if (names.length === 0) return raw;
      const own = raw.trimEnd();
      const members = membersOf(added);
      const head = own.slice(0, -1).trimEnd();
      const lineEnd = raw.endsWith('\r\n') ? '\r\n' : '\n';
      return `${head}${head.endsWith('{') || members === '' ? '' : ','}${members}}${lineEnd}`;
    },
    inBytes: names.length === 0 ? undefined : createByteWriter(membersOf),
  };
}

const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const CARRIAGE_RETURN = 0x0d;

/** Writes the same rows as the writer of texts. */
function createByteWriter(membersOf: ByteWriter['cellsOf']): ByteWriter {
  const isSpace = (byte: number | undefined): boolean =>
    byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === 0x20 || byte === 0x09;
  return {
    cellsOf: membersOf,
    write: (
      { bytes, start, sizeBytes },
      { bytes: members, start: from, end: until },
      target,
      at,
    ) => {
      const end = start + sizeBytes;
      let ownEnd = end;
      while (isSpace(bytes[ownEnd - 1])) ownEnd -= 1;
      ownEnd -= 1; // the closing brace
      while (isSpace(bytes[ownEnd - 1])) ownEnd -= 1;
      let to = at + bytes.copy(target, at, start, ownEnd);
      if (until > from && bytes[ownEnd - 1] !== OPEN) to = target.writeUInt8(COMMA, to);
      to += members.copy(target, to, from, until);
      to = target.writeUInt8(CLOSE, to);
      if (bytes[end - 1] === LINE_FEED && bytes[end - 2] === CARRIAGE_RETURN) {
        to = target.writeUInt8(CARRIAGE_RETURN, to);
      }
      return target.writeUInt8(LINE_FEED, to);
    },
    spareBytes: 4,
    style: 'jsonl',
  };
}

function member(name: string | undefined, value: CellValue): string | undefined {
  return name === undefined || value === undefined
    ? undefined
    : `${JSON.stringify(name)}:${JSON.stringify(value)}`;
}

type JsonRow = Readonly<Record<string, unknown>>;

function readSample(source: Source): JsonRow[] {
  const rows: JsonRow[] = [];
  const { sample } = source;
  let line = 0;
  for (let start = 0; start < sample.length && rows.length < SAMPLE_ROWS; ) {
    const found = sample.indexOf(LINE_FEED, start);
    if (found === -1 && !source.isWholeInSample) break;
    const end = found === -1 ? sample.length : found;
    line += 1;
    const row = parseRow(sample.toString('utf8', start, end), source, line);
    if (row) rows.push(row);
    start = end + 1;
  }
  if (rows.length === 0 && !source.isOfObjects) {
    throw new BrandfillError(
      'UNREADABLE_INPUT',
      source.isWholeInSample
        ? `Cannot read ${source.name}: it is empty; expected one JSON object per line.`
        : `Cannot read ${source.name}: its first line is longer than 256 KB; expected one JSON object per line.`,
    );
  }
  return rows;
}

async function* scan(
  source: ByteSource,
  {
    domainColumn,
    others,
  }: { readonly domainColumn: string; readonly others: readonly RowColumn[] },
  onRow: (row: JsonRow) => void,
): AsyncGenerator<readonly ScannedRow[]> {
  let line = 0;
  const scanLine = (bytes: Buffer): ScannedRow => {
    line += 1;
    const row = parseRow(bytes.toString('utf8'), source, line);
    if (row) onRow(row);
    return {
      cell: row ? textIn(row, domainColumn) : '',
      sizeBytes: bytes.length,
      bytes,
      start: 0,
      fields: row ? 1 : 0,
      others: others.length > 0 && row ? others.map(({ name }) => textIn(row, name)) : undefined,
    };
  };
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of source.read()) {
    const batch: ScannedRow[] = [];
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      const tail = chunk.subarray(start, end + 1);
      batch.push(scanLine(rest.length > 0 ? Buffer.concat([...rest, tail]) : tail));
      rest = [];
      restBytes = 0;
      start = end + 1;
    }
    if (start < chunk.length) rest.push(chunk.subarray(start));
    restBytes += chunk.length - start;
    if (restBytes > MAX_LINE_BYTES) throw refuseLine(source, line + 1, 'it is longer than 32 MB');
    yield batch;
  }
  if (rest.length > 0) yield [scanLine(Buffer.concat(rest))];
}

/** Undefined for a blank line. */
function parseRow(text: string, source: ByteSource, line: number): JsonRow | undefined {
  if (text.trim() === '') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Invisible, so the line looks like valid JSON.
    const why = text.startsWith('\ufeff')
      ? 'it begins with a byte order mark, as where files were joined, which has to be removed'
      : (describeForeignValue(text) ?? describeWhere(text, error));
    throw refuseLine(source, line, why, error);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw refuseLine(source, line, `it is ${nameOf(value)}`);
  }
  if (isTooDeep(text, value)) {
    throw refuseLine(source, line, 'it is nested more than 1,000 levels deep');
  }
  return value as JsonRow;
}

/** What some programs write for a value, and JSON does not know. */
const FOREIGN_VALUE = /-?\b(?:NaN|Infinity|undefined|None|True|False)\b/;

function describeForeignValue(text: string): string | undefined {
  const withoutTexts = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, (quoted) => ' '.repeat(quoted.length));
  const found = FOREIGN_VALUE.exec(withoutTexts);
  return found
    ? `${found[0]} stands at its character ${found.index + 1}, which JSON does not know (null, true and false are its words)`
    : undefined;
}

/** With the place and the sign there; no sign is left where a text is cut off. */
function describeWhere(text: string, error: unknown): string {
  const own = text.trimEnd();
  const place = placeOfFault(own, error);
  const sign = own.at(place);
  return sign === undefined
    ? 'it is no valid JSON: it ends too early (if its record goes on in the next line, jq -c . makes one line of it)'
    : `it is no valid JSON: '${sign}' stands at its character ${place + 1}, where something else was expected`;
}

/** The parser's message has the place of some faults only. */
function placeOfFault(text: string, error: unknown): number {
  const message = error instanceof Error ? error.message : '';
  const place = /at position (\d+)/.exec(message)?.[1];
  if (place !== undefined) return Number(place);
  const faults: ParseError[] = [];
  if (message.startsWith('Unexpected token')) {
    jsonc().parse(text, faults, { disallowComments: true });
  }
  return faults[0]?.offset ?? text.length;
}

function refuseLine(
  source: ByteSource,
  line: number,
  why: string,
  cause?: unknown,
): BrandfillError {
  return new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read line ${line} of ${source.name}: ${why}; expected one JSON object per line.`,
    { cause },
  );
}

function nameOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : `a ${typeof value}`;
}

/** The text of a member. A row also inherits members, such as `constructor`, which are not its own. */
function textIn(row: JsonRow, name: string): string {
  return Object.hasOwn(row, name) ? toText(row[name]) : '';
}

function toText(value: unknown): string {
  if (typeof value === 'string') return value;
  return textOfCell(value);
}

/** Adds members to objects where they are missing, null or empty. The rest stays as it is. */
export function createJsonlFiller(columns: readonly RowColumn[], replaces = false): RowFiller {
  return {
    fill: (raw, fields, values): FilledRow => {
      let text = raw;
      const filled: number[] = [];
      for (const [at, { name }] of columns.entries()) {
        const value = values[at];
        const next =
          value === undefined || isEmpty(value)
            ? undefined
            : fillOne(text, { name, value, replaces });
        if (next === undefined) continue;
        text = next;
        filled.push(at);
      }
      return { raw: text, fields, filled };
    },
  };
}

/** @returns undefined when there is a value already */
function fillOne(
  raw: string,
  {
    name,
    value,
    replaces,
  }: { readonly name: string; readonly value: CellValue; readonly replaces: boolean },
): string | undefined {
  const member = findMember(raw, name);
  if (!member) return addMember(raw, name, value);
  if (!replaces && !isEmpty(member.value)) return undefined;
  const { offset, length } = member.node;
  return raw.slice(0, offset) + JSON.stringify(value) + raw.slice(offset + length);
}

let parser: typeof import('jsonc-parser') | undefined;

/** Loaded here, because most lists are not JSONL, or are neither broken nor filled in place. */
function jsonc(): typeof import('jsonc-parser') {
  parser ??= createRequire(import.meta.url)('jsonc-parser') as typeof import('jsonc-parser');
  return parser;
}

function membersOf(raw: string): readonly Node[] {
  return jsonc().parseTree(raw)?.children ?? [];
}

/** The value of a member and its place; of several with the same name the last one counts. */
function findMember(raw: string, name: string): { node: Node; value: unknown } | undefined {
  const members = membersOf(raw);
  const node = members.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
  if (!node) return undefined;
  return { node, value: node.type === 'string' || node.type === 'null' ? node.value : node };
}

/** Cuts an object off before one of its members. */
function cutMembers(raw: string, name: string): string {
  const members = membersOf(raw);
  const member = members.findLast(({ children }) => children?.[0]?.value === name);
  if (!member) return raw;
  const head = raw.slice(0, member.offset).trimEnd();
  return `${head.endsWith(',') ? head.slice(0, -1) : head}}${raw.slice(raw.trimEnd().length)}`;
}

function addMember(raw: string, name: string, value: CellValue): string {
  const own = raw.trimEnd();
  const head = own.slice(0, -1).trimEnd();
  const comma = head.endsWith('{') ? '' : ',';
  const member = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
  return `${head}${comma}${member}}${raw.slice(own.length)}`;
}

function isEmpty(value: unknown): boolean {
  return value === null || value === '' || (Array.isArray(value) && value.length === 0);
}
