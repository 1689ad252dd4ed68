import { openCsv } from './csv/csv.ts';
import { isJsonl, openJsonl } from './jsonl.ts';
import { findOtherText } from './other-formats.ts';
import type { FormatOptions, RowFormat } from './row-format.ts';
import { type Source, unreadable } from './source.ts';

/** Opens a text in its format. @throws BrandfillError `UNREADABLE_INPUT` when it is none of them */
export function openText(source: Source, options: FormatOptions): RowFormat {
  const other = findOtherText(source.sample);
  if (other !== undefined) throw unreadable(source.name, `it is ${other}`);
  return isJsonl(source) ? openJsonl(source, options) : openCsv(source, options);
}

const ENDINGS =
  /^\.(?:csv|tsv|tab|jsonl|ndjson|json|xls[xmb]?|xlt[xm]|ods|numbers|parquet|html|xml|yaml|pdf|zip|bz2|xz|zst)(?:\.gz)?$/i;

/** Whether the ending of a name stands for a format, be it one of ours or not. */
export function standsForFormat(extension: string): boolean {
  return ENDINGS.test(extension);
}
