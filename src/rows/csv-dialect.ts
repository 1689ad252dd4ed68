/** How a CSV file is written. */
export interface CsvDialect {
  readonly delimiter: string;
  /** What ends a line, of the first line. */
  readonly lineEnd: '\n' | '\r\n' | '\r';
}

const DELIMITERS = [',', ';', '\t', '|'] as const;
const SAMPLE_RECORDS = 500;

/**
 * Finds out delimiter and line end from the beginning of a file: the delimiter is the one that cuts
 * the most records into the same number of cells, and of equals the one that makes more cells.
 *
 * @param sample the beginning of the file
 * @param preferred what the file's name suggests; wins whenever it occurs in the first line
 */
export function detectDialect(sample: string, preferred?: string): CsvDialect {
  const records = countDelimiters(sample);
  const candidates = DELIMITERS.map((delimiter, at) => ({
    delimiter,
    ...agreement(records.map((counts) => counts[at] ?? 0)),
  })).filter((candidate) => candidate.cells > 0);
  const suggested = candidates.find(({ delimiter }) => delimiter === preferred);
  const best = candidates.sort((a, b) => b.share - a.share || b.cells - a.cells)[0];
  return { delimiter: (suggested ?? best)?.delimiter ?? ',', lineEnd: detectLineEnd(sample) };
}

/** Counts each delimiter outside of quotes, record by record. */
function countDelimiters(sample: string): number[][] {
  const records: number[][] = [];
  let counts = DELIMITERS.map(() => 0);
  let isQuoted = false;
  let isBlank = true;
  for (const character of sample) {
    if (character === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (character === '\n' || character === '\r')) {
      if (!isBlank) records.push(counts);
      if (records.length === SAMPLE_RECORDS) return records;
      counts = DELIMITERS.map(() => 0);
      isBlank = true;
      continue;
    } else if (!isQuoted) {
      const at = (DELIMITERS as readonly string[]).indexOf(character);
      if (at !== -1) counts[at] = (counts[at] ?? 0) + 1;
    }
    isBlank = false;
  }
  // A last line that the sample cuts short says little, unless it is the only one.
  if (records.length === 0 && !isBlank) records.push(counts);
  return records;
}

/** The header's count of a delimiter, and how many records share it. */
function agreement(counts: readonly number[]): { share: number; cells: number } {
  const cells = counts[0] ?? 0;
  return { cells, share: counts.filter((count) => count === cells).length / counts.length };
}

function detectLineEnd(sample: string): CsvDialect['lineEnd'] {
  const first = /\r\n|\n|\r/.exec(sample)?.[0];
  // Lone carriage returns count only in a file that has no line feed at all.
  if (first === '\r') return sample.includes('\n') ? '\n' : '\r';
  return first === '\r\n' ? '\r\n' : '\n';
}
