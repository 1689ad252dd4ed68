/** As much of a text as fits on a line of a terminal, before and behind the place. */
const MOST_BEFORE = 50;
const MOST_SHOWN = 70;

/**
 * Shows a place of a text: a line with the text, or what is around the place, and one with a caret
 * under it. What controls a terminal is shown as a space.
 *
 * @param at the character, from 0
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
