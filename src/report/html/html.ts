/** Markup that may go into a page as it is. Only `html` makes it. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Values that may be put into a template. Markup stays as it is, texts and numbers are escaped, and
 * false, null and undefined come to nothing.
 */
export type HtmlValue = Html | string | number | false | undefined | null | readonly HtmlValue[];

/**
 * Makes markup. Whatever is put in is a text, in elements as in quoted attributes, unless it was made
 * by `html` itself.
 *
 * @example
 * ```ts
 * html`<td title="${name}">${name}</td>`;
 * ```
 */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(strings.map((part, at) => part + toText(values[at])).join(''));
}

function toText(value: HtmlValue): string {
  if (value === undefined || value === null || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(toText).join('');
  return escape(String(value));
}

function escape(text: string): string {
  return text
    .replaceAll(UNWELCOME, ' ')
    .replaceAll(/[&<>"'`]/g, (character) => `&#${character.codePointAt(0)};`);
}

/**
 * Characters that no page may hold, or that make a text read in another order than it is written.
 */
const UNWELCOME = /[^\P{Cc}\n\t]|[\u202a-\u202e\u2066-\u2069]/gu;
