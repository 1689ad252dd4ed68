/**
 * A number as somebody types it, in the way of their language or with a point: `0,01`, `0.01`,
 * `1.000` in German, `1,000` in English. Undefined where it is none, or below 0.
 *
 * @param locale of the reader @default the browser's
 */
export function readNumber(text: string, locale?: string): number | undefined {
  const typed = text.trim().replaceAll(/[\s'’]/g, '');
  const parts = new Intl.NumberFormat(locale).formatToParts(10_000_000.5);
  const signOf = (type: string): string => parts.find((part) => part.type === type)?.value ?? '';
  const [group, decimal] = [signOf('group'), signOf('decimal')];
  // Groups of three behind a first digit that is not 0: else `0.001` would be one in German.
  const grouped = new RegExp(`^[1-9]\\d{0,2}(?:\\${group}\\d{3})+(?:\\${decimal}\\d+)?$`);
  if (/^[.,]$/.test(group) && grouped.test(typed)) {
    return Number(typed.replaceAll(group, '').replace(decimal, '.'));
  }
  return /^(?:\d+(?:[.,]\d*)?|[.,]\d+)$/.test(typed) ? Number(typed.replace(',', '.')) : undefined;
}
