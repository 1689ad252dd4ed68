import type { StatusCounts } from '../../watch/summary.ts';

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

/** One column of a table. */
interface TableColumn<T> {
  readonly name: string;
  /** Whether it holds numbers, set flush right. @default false */
  readonly isNumber?: boolean;
  /** Whether its cell names the row. @default false */
  readonly isHead?: boolean;
  /** Whether it is left out on a phone. @default false */
  readonly isMinor?: boolean;
  readonly isCode?: boolean;
  readonly isWide?: boolean;
  cellOf(row: T): HtmlValue;
}

/** A table with its headers. It scrolls sideways where there is no room for it. */
export function table<T>(
  caption: string,
  rows: readonly T[],
  columns: readonly TableColumn<T>[],
): Html {
  const heads = columns.map(
    (column) => html`<th scope="col" class="${classOf(column)}">${column.name}</th>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table><thead><tr>${heads}</tr></thead><tbody>
${rows.map((row) => html`<tr>${columns.map((column) => cell(column, row))}</tr>\n`)}</tbody></table></div>`;
}

function cell<T>(column: TableColumn<T>, row: T): Html {
  const content = column.cellOf(row);
  return column.isHead
    ? html`<th scope="row" class="${classOf(column)}">${content}</th>`
    : html`<td class="${classOf(column)}">${content}</td>`;
}

function classOf<T>({ isNumber, isMinor, isCode, isWide }: TableColumn<T>): string {
  return [isNumber && 'n', isMinor && 'hide-small', isCode && 'code', isWide && 'wide']
    .filter((name) => name !== false && name !== undefined)
    .join(' ');
}

/** A bar as long as a share; the share itself is printed beside it. */
export function meter(part: number, whole: number, kind = ''): Html {
  const percent = whole > 0 ? Math.min(100, (part / whole) * 100) : 0;
  return html`<span class="meter ${kind}"><i style="width:${percent.toFixed(1)}%"></i></span>`;
}

/** The name and the meaning of a row's status. */
interface StatusWords {
  readonly name: string;
  readonly meaning: string;
}

/** All statuses, in the order in which they are shown. */
export const STATUSES: Readonly<Record<keyof StatusCounts, StatusWords>> = {
  found: { name: 'found', meaning: 'enriched' },
  stale: { name: 'stale', meaning: 'not learned this time; the values of an older answer stay' },
  not_found: { name: 'not found', meaning: 'the API does not know the domain' },
  rejected: { name: 'rejected', meaning: 'the API refused the domain' },
  failed: { name: 'failed', meaning: 'no usable answer, however often it was tried' },
  pending: { name: 'pending', meaning: 'accepted by the API, no answer ready yet' },
  invalid: { name: 'invalid', meaning: 'no domain in the row; nothing was asked' },
  skipped: { name: 'skipped', meaning: 'not asked; the run stopped first' },
};

/** `1,204`. */
export function number(amount: number, digits = 0): string {
  return amount.toLocaleString('en-US', { maximumFractionDigits: digits });
}

/** `1,204 rows`, `1 row`. */
export function count(amount: number, noun: string): string {
  return `${number(amount)} ${noun}${amount === 1 ? '' : 's'}`;
}

/** `68 %`, `0.4 %`, `< 0.1 %`; empty for a share of nothing. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const percent = (part / whole) * 100;
  if (percent > 0 && percent < 0.1) return '< 0.1 %';
  if (percent > 99.9 && percent < 100) return '> 99.9 %';
  return `${number(percent, percent < 10 || percent > 99 ? 1 : 0)} %`;
}

/** `2026-11-21 02:30:00 UTC`. */
export function time(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC`;
}

/** `0.8 ms`, `120 ms`, `4.2 s`, `61 s`. */
export function latency(ms: number): string {
  if (ms < 10) return `${number(ms, 1)} ms`;
  if (ms < 1_000) return `${number(ms)} ms`;
  return `${number(ms / 1_000, ms < 10_000 ? 1 : 0)} s`;
}
