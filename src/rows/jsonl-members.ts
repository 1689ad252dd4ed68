import { createRequire } from 'node:module';
import type { Node } from 'jsonc-parser';
import type { CellValue, FilledRow, RowColumn, RowFiller } from './row-format.ts';

/** Adds members to objects where they are missing, null or empty. The rest stays as it is. */
export function createJsonlFiller(columns: readonly RowColumn[]): RowFiller {
  return {
    fill: (raw, fields, values): FilledRow => {
      let text = raw;
      const filled: number[] = [];
      for (const [at, { name }] of columns.entries()) {
        const value = values[at];
        const next = value === undefined || isEmpty(value) ? undefined : fillOne(text, name, value);
        if (next === undefined) continue;
        text = next;
        filled.push(at);
      }
      return { raw: text, fields, filled };
    },
  };
}

/** @returns undefined when there is a value already */
function fillOne(raw: string, name: string, value: CellValue): string | undefined {
  const member = findMember(raw, name);
  if (!member) return addMember(raw, name, value);
  if (!isEmpty(member.value)) return undefined;
  const { offset, length } = member.node;
  return raw.slice(0, offset) + JSON.stringify(value) + raw.slice(offset + length);
}

let parser: typeof import('jsonc-parser') | undefined;

function membersOf(raw: string): readonly Node[] {
  // Loaded here, because most lists are not JSONL, or are not filled in place.
  parser ??= createRequire(import.meta.url)('jsonc-parser') as typeof import('jsonc-parser');
  return parser.parseTree(raw)?.children ?? [];
}

/** The value of a member and its place; of several with the same name the last one counts. */
function findMember(raw: string, name: string): { node: Node; value: unknown } | undefined {
  const members = membersOf(raw);
  const node = members.findLast(({ children }) => children?.[0]?.value === name)?.children?.[1];
  if (!node) return undefined;
  return { node, value: node.type === 'string' || node.type === 'null' ? node.value : node };
}

/** Cuts an object off before one of its members. */
export function cutMembers(raw: string, name: string): string {
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
