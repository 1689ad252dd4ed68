import { createRequire } from 'node:module';
import { isTooDeep } from '../common/text.ts';
import { meaningOfName } from './columns/column-name.ts';
import { shorten } from './columns/names.ts';
import { textOfCell } from './csv/csv-writer.ts';
import { LIST_FORMATS } from './list-formats.ts';
import {
  type CellValue,
  type FormatOptions,
  isFilled,
  type RawRow,
  type RowFormat,
  type RowWriter,
  type ScannedRow,
} from './row-format.ts';
import {
  type ByteSource,
  describeText,
  linesOf,
  type Source,
  unreadable,
  unreadableLine,
} from './source.ts';

const EXPECTED = '; expected one JSON object per line';
const MOST_SAMPLE_ROWS = 2_000;
const MOST_COLUMNS = 1_000;

type JsonRow = Readonly<Record<string, unknown>>;

/** Whether a list is JSONL, by its name, else by its beginning. */
export function isJsonl({ name, sample, isOfObjects = false }: Source): boolean {
  const start = sample.toString('utf8').trimStart();
  // The first column of CSV may be called `[id]`.
  if (!isOfObjects && /^\[\s*(?:[[{"\]]|-?\d|null|true|false)/.test(start)) {
    throw unreadable(name, `it is a JSON array${EXPECTED} (jq -c '.[]' makes it so)`);
  }
  return isOfObjects || /\.(?:jsonl|ndjson)(?:\.gz)?$/i.test(name) || /^\{\s*["}]/.test(start);
}

/**
 * Reads the columns of a JSONL file from rows all over it: the members of its objects, then those
 * within them by their path (`properties.domain`).
 *
 * @param prefix names that begin with it are remembered while scanning, because our own columns
 * begin with it
 * @throws BrandfillError `UNREADABLE_INPUT` when there is no row or the first is no object.
 */
export function openJsonl(source: Source, { prefix }: FormatOptions): RowFormat {
  const rows = readSample(source);
  const names = new Set(rows.flatMap((row) => Object.keys(row)));
  const paths = rows.flatMap((row) => pathsIn(row));
  const columns = [...new Set([...names, ...paths])].slice(0, MOST_COLUMNS);
  const takenNames = new Set(names);

  return {
    notation: LIST_FORMATS.jsonl,
    extension: '.jsonl',
    description: describeText('JSONL', source),
    columns,
    // An object is no cell: its members have columns of their own.
    sampleRows: rows.map((row) =>
      columns.map((name) => (isObject(valueAt(row, name)) ? '' : textOf(row, name))),
    ),
    headBytes: 0,
    isTable: false,
    takenNames,
    scan: async function* (input, domainColumn, others = []) {
      const asked = [domainColumn, ...others];
      let line = 0;
      const scanLine = (bytes: Buffer): ScannedRow => {
        line += 1;
        const sizeBytes = bytes.length;
        const row = parseRow(bytes.toString('utf8'), input, line);
        if (!row) return { cell: '', sizeBytes, fields: 0, line };
        for (const name in row) if (name.startsWith(prefix)) takenNames.add(name);
        for (const { name } of asked) if (valueAt(row, name) !== undefined) takenNames.add(name);
        const [cell = '', ...more] = asked.map(({ name }) => textOf(row, name));
        return { cell, sizeBytes, fields: 1, line, others: more };
      };
      for await (const lines of linesOf(input.read(), input.name)) yield lines.map(scanLine);
    },
    createWriter: createJsonlWriter,
    fillCell: (row, { name }, value) => fillMember(row, name, value),
    textOf: (value) => (value === undefined ? '' : JSON.stringify(value)),
    cellOf: (raw, { name }) => textOf(JSON.parse(raw) as JsonRow, name),
    toObject: (raw) => JSON.parse(raw) as Record<string, unknown>,
  };
}

/** The paths of members within members. */
function pathsIn(row: JsonRow, before = '', depth = 0): readonly string[] {
  return Object.entries(row).flatMap(([name, value]) => {
    const own = depth === 0 ? [] : [before + name];
    return isObject(value) && depth < 3
      ? own.concat(pathsIn(value, `${before}${name}.`, depth + 1))
      : own;
  });
}

function isObject(value: unknown): value is JsonRow {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * The value of a member, or else at a path. What a row inherits, as `constructor`, is not its own.
 */
function valueAt(row: JsonRow, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name];
  let value: unknown = row;
  for (const part of name.split('.')) {
    value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
  }
  return value;
}

function textOf(row: JsonRow, name: string): string {
  return textOfCell(valueAt(row, name));
}

function readSample(source: Source): readonly JsonRow[] {
  const { sample, isWholeInSample, windows = [] } = source;
  const lines = sample.toString('utf8').split('\n');
  if (!isWholeInSample) lines.pop(); // it may be cut short
  const rows = lines
    .slice(0, MOST_SAMPLE_ROWS)
    .map((line, at) => parseRow(line, source, at + 1))
    .filter((row) => row !== undefined);
  if (rows.length === 0 && !source.isOfObjects) {
    const why = isWholeInSample ? 'it is empty' : 'its first line is longer than 256 KB';
    throw unreadable(source.name, why + EXPECTED);
  }
  const [only] = rows;
  if (only && rows.length === 1 && isWholeInSample) refuseNoList(only, source);
  for (const line of windows.join('').split('\n')) {
    // A bad line is told when the list is scanned.
    try {
      const row = parseRow(line, source, 0);
      if (row) rows.push(row);
    } catch {}
  }
  return rows;
}

/** What programs answer or write instead of rows: one object of something else. */
function refuseNoList(row: JsonRow, { name, isOfObjects = false }: Source): void {
  const members = Object.entries(row);
  const isRow = members.some(
    ([key, value]) => typeof value === 'string' && meaningOfName(key).isPlain,
  );
  if (isOfObjects || members.length === 0) return;
  const error = errorIn(row, isRow);
  if (error !== undefined)
    throw unreadable(name, `it is no list but the error of an API ('${shorten(error)}')`);
  const isOfColumns = members.every(([, value]) => isObject(value) && Object.hasOwn(value, '0'));
  if (isOfColumns || row['columns'])
    throw unreadable(
      name,
      "it has columns instead of rows, as pandas writes it; have it write to_json(orient='records', lines=True)",
    );
  if (isRow) return;
  const [within] = members.find(([, value]) => Array.isArray(value) && isObject(value[0])) ?? [];
  const isOfRows = members.length > 1 && members.every(([, value]) => isObject(value));
  if (!isOfRows && within === undefined) return;
  const path = isOfRows ? '.[]' : `.${JSON.stringify(within)}[]`;
  throw unreadable(name, `its rows are within one object${EXPECTED} (jq -c '${path}' makes it so)`);
}

/**
 * What an API says instead of an answer.
 *
 * @param mayBeRow whether it has a domain too, so that an error in words may be a column
 */
function errorIn(row: JsonRow, mayBeRow: boolean): string | undefined {
  const { error, errors, fault, message, detail, title, status, code, success } = row;
  const isFailure = Number(status ?? code) >= 400 || success === false;
  const failed = error ?? errors ?? fault;
  const said =
    mayBeRow && !isFailure && !isObject(failed)
      ? undefined
      : (failed ?? message ?? detail ?? title);
  return said
    ? textOfCell(isObject(said) ? (said['message'] ?? said['faultstring'] ?? said) : said)
    : undefined;
}

/** Undefined for a blank line, and for the sign that ends a DOS file. */
function parseRow(text: string, source: ByteSource, line: number): JsonRow | undefined {
  if (text.trim() === '' || text === '\x1a') return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw unreadableLine(source, line, `it is no valid JSON (${shorten(why)})${EXPECTED}`, error);
  }
  if (!isObject(value)) throw unreadableLine(source, line, `it is no object${EXPECTED}`);
  if (isTooDeep(text)) {
    throw unreadableLine(source, line, `it is nested more than 1,000 levels deep${EXPECTED}`);
  }
  return value;
}

/**
 * Adds members to objects without touching the rest: numbers, escapes and the order of members stay
 * as they are.
 */
function createJsonlWriter(names: readonly string[]): RowWriter {
  const keys = names.map((name) => `${JSON.stringify(name)}:`);
  return {
    header: '',
    row: (raw, _fields, added) => {
      if (names.length === 0) return raw;
      let row = raw.trimEnd().slice(0, -1).trimEnd();
      let comma = row.endsWith('{') ? '' : ',';
      for (const [at, value] of added.entries()) {
        if (value === undefined) continue;
        row += comma + keys[at] + JSON.stringify(value);
        comma = ',';
      }
      return `${row}}${raw.endsWith('\r\n') ? '\r\n' : '\n'}`;
    },
  };
}

/** Adds a member to an object where it is missing, null or empty. The rest stays as it is. */
function fillMember(row: RawRow, name: string, value: CellValue): RawRow | undefined {
  const object = JSON.parse(row.raw) as JsonRow;
  if (isFilled(valueAt(object, name))) return undefined;
  if (!isFilled(value)) return row;
  const path = name.split('.');
  const isWithin = !Object.hasOwn(object, name) && isObject(object[path[0] ?? '']);
  const { applyEdits, modify } = jsonc();
  const edits = modify(row.raw, isWithin ? path : [name], value, {});
  return { ...row, raw: applyEdits(row.raw, edits) };
}

/** Loaded here, because most lists are not JSONL, or are not filled in place. */
function jsonc(): typeof import('jsonc-parser') {
  return createRequire(import.meta.url)('jsonc-parser') as typeof import('jsonc-parser');
}
