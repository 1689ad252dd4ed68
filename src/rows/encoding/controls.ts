import { BrandfillError } from '../../common/errors.ts';

/**
 * Text has no control characters except these: tab, line ends, page ends, and the end of a DOS
 * file.
 */
const TEXT_CONTROLS: ReadonlySet<number> = new Set([0x09, 0x0a, 0x0b, 0x0c, 0x0d, 0x1a]);

/**
 * Refuses input that is no text, because too much of it is control characters.
 *
 * @param mostShare the largest share allowed, from 0 to 1
 * @throws BrandfillError `UNREADABLE_INPUT`
 */
export function refuseControls(bytes: Buffer, name: string, mostShare: number): void {
  let controls = 0;
  for (const byte of bytes) if (byte < 0x20 && !TEXT_CONTROLS.has(byte)) controls += 1;
  if (controls <= bytes.length * mostShare) return;
  throw new BrandfillError(
    'UNREADABLE_INPUT',
    `Cannot read ${name}: it is no text; expected a list as CSV, JSONL or XLSX.`,
  );
}
