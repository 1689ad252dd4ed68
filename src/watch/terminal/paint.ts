import { styleText } from 'node:util';
import type { FittedPart } from './fit-line.ts';

/** Gives the parts of a line their colours, and joins them. */
export type Paint = (parts: readonly FittedPart[], separator: string) => string;

/**
 * @param stream says whether it shows colours: a terminal does, unless `NO_COLOR` or `TERM=dumb`
 * say otherwise, or `FORCE_COLOR` says so
 */
export function createPaint(stream: { readonly hasColors?: () => boolean }): Paint {
  const hasColors = stream.hasColors?.() ?? false;
  return (parts, separator) =>
    parts
      .map(({ text, color }) =>
        hasColors && color ? styleText(color, text, { validateStream: false }) : text,
      )
      .join(separator);
}
