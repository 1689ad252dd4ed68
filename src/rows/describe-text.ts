import { shorten } from './columns/names.ts';
import type { Source } from './source.ts';

/** Describes a list of text: `CSV, Windows-1252 (such as 'Müller')`. UTF-8 is not mentioned. */
export function describeText(
  format: string,
  { encoding, encodingExample }: Pick<Source, 'encoding' | 'encodingExample'>,
): string {
  if (encoding === 'UTF-8') return format;
  const example = encodingExample === undefined ? '' : ` (such as '${shorten(encodingExample)}')`;
  return `${format}, ${encoding}${example}`;
}
