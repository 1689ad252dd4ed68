/** What controls a terminal, ends a line, or turns the direction of what follows. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text from outside, fit for a terminal: what could do more than be seen is written as `\u001b`. */
export function printable(text: string): string {
  return text.replaceAll(
    UNPRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Whether a text is fit for a terminal, and for a line of it. */
export function isPrintable(text: string): boolean {
  return printable(text) === text;
}

/** The same of several lines, whose ends stay. JSON means the same afterwards. */
export function printableLines(text: string): string {
  return text.split('\n').map(printable).join('\n');
}
