import { shorten } from './columns/names.ts';
import type { Source } from './source.ts';

/** Says what a list of text is: `CSV, Windows-1252 (such as 'Müller')`. UTF-8 goes without saying. */
export function describeText(
  format: string,
  { encoding, encodingExample }: Pick<Source, 'encoding' | 'encodingExample'>,
): string {
  if (encoding === 'UTF-8') return format;
  const example = encodingExample === undefined ? '' : ` (such as '${shorten(encodingExample)}')`;
  return `${format}, ${encoding}${example}`;
}
