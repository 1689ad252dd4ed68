import { findHeaderRow, namesDomains } from '../xlsx/header-row.ts';

const LINE_END = /\r\r\n|\r\n|\n|\r/g;

/** The line in which a text ends, from 1. */
export function linesIn(text: string): number {
  return text.split(LINE_END).length;
}

/** The first lines of a text, line ends included; undefined when there are fewer. */
export function firstLines(text: string, count: number): string | undefined {
  let end = 0;
  const lineEnds = text.matchAll(LINE_END);
  for (let line = 0; line < count; line += 1) {
    const next = lineEnds.next();
    if (next.done) return undefined;
    end = next.value.index + next.value[0].length;
  }
  return text.slice(0, end);
}

/**
 * Finds the header among the first records if lines of a title seem to be above it, as in reports.
 * These lines have far fewer cells than the list below, or the list below names a column of domains
 * and they do not.
 */
export function findHeaderBelowTitle(
  records: readonly { readonly cells: readonly string[] }[],
): number | undefined {
  const rows = records.map(({ cells }) => cells);
  const at = findHeaderRow(rows);
  const [title = 0, header = 0] = [records[0], records[at]].map(
    (record) => record?.cells.filter((cell) => cell.trim() !== '').length,
  );
  const isHeader = header >= 2 && (header >= 2 * title || namesDomains(rows, at));
  return at > 0 && isHeader ? at : undefined;
}
