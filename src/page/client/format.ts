import { formatPrice, formatUnits } from '../../common/format.ts';
import type { RunView } from '../../watch/run-view.ts';

// Numbers are written as on a terminal; these are the page's own.
export {
  countOf as counted,
  formatCount as count,
  formatDuration as duration,
  formatRate as rate,
  formatSize as size,
} from '../../common/format.ts';

/** `68 %`, `0.4 %`, `< 0.1 %`. */
export function share(part: number, whole: number): string {
  if (whole === 0) return '–';
  const of = (part / whole) * 100;
  if (of > 0 && of < 0.1) return '< 0.1 %';
  return `${of.toFixed(of > 0 && of < 10 ? 1 : 0)} %`;
}

/** In the time zone of the viewer. */
export function time(when: number | string): string {
  const date = new Date(when);
  const isToday = date.toDateString() === new Date().toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}

/** What it costs, in words; undefined when nothing is known of it. */
export function costOf({
  bill,
  cost,
  currency,
}: Pick<RunView, 'bill' | 'cost' | 'currency'>): string | undefined {
  const parts = [
    ...(bill ? [formatUnits(bill)] : []),
    ...(cost === undefined ? [] : [formatPrice(cost, currency)]),
  ];
  return parts.length === 0 ? undefined : parts.join(', ');
}
