import { type Html, type HtmlValue, html } from './html.ts';

/** One column of a table. */
export interface TableColumn<T> {
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
