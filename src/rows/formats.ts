import { CSV } from './csv/csv.ts';
import { JSONL } from './jsonl.ts';
import { findOtherText } from './other-formats.ts';
import type { FormatOptions, RowFormat, TextFormat } from './row-format.ts';
import { type Source, unreadable } from './source.ts';

/** All formats of texts. The last one takes what no other does; a new one stands before it. */
const TEXT_FORMATS: readonly TextFormat[] = [JSONL, CSV];

/** Opens a text in its format. @throws BrandfillError `UNREADABLE_INPUT` when it is none of them */
export function openText(source: Source, options: FormatOptions): RowFormat {
  const { name, sample } = source;
  const other = findOtherText(sample);
  if (other !== undefined) throw unreadable(name, `it is ${other}`);
  const format = TEXT_FORMATS.find((format) => format.recognises(source)) ?? CSV;
  return { ...format.open(source, options), kind: format.kind, endings: format.endings };
}

const OTHERS =
  /^\.(?:xls[xmb]?|xlt[xm]|ods|numbers|parquet|html|xml|yaml|pdf|zip|bz2|xz|zst)(?:\.gz)?$/i;

/** Whether the ending of a name stands for a format, be it one of ours or not. */
export function standsForFormat(extension: string): boolean {
  return OTHERS.test(extension) || TEXT_FORMATS.some(({ endings }) => endings.test(extension));
}
