/**
 * How much of a text is shown before the position, and in all: as much as fits on a terminal line.
 */
const MOST_BEFORE = 50;
const MOST_SHOWN = 70;

/**
 * Shows a position in a text: a line with the text around it, and a line with a caret below it.
 * Control characters are shown as spaces.
 *
 * @param at the index of the character
 */
export function pointAt(text: string, at: number): string {
  const printable = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (found) => ' '.repeat(found.length));
  const from = Math.max(0, at - MOST_BEFORE);
  const to = from + MOST_SHOWN;
  const before = from > 0 ? '…' : '';
  const behind = to < text.length ? '…' : '';
  const line = `${before}${printable.slice(from, to)}${behind}`;
  return `  ${line}\n  ${' '.repeat(before.length + at - from)}^`;
}
