import { formatPrice } from '../../job/values/price.ts';
import type { RunReport } from '../run-report.ts';
import { type Html, html } from './html.ts';
import { table } from './tables.ts';
import { count } from './words.ts';

/** The cost of the calls. */
export function costSection({ cost, rows }: RunReport): Html | false {
  if (cost === null) return false;
  const { perCall, calls, total, planned } = cost;
  const { found } = rows.statuses;
  const facts: readonly (readonly [string, string])[] = [
    ['in all', `${formatPrice(total)} for ${count(calls, 'call')}, those throttled left out`],
    ['a call', formatPrice(perCall)],
    ...(found > 0 ? ([['an enriched row', formatPrice(total / found)]] as const) : []),
    ...(planned === null ? [] : ([['as planned', formatPrice(planned)]] as const)),
  ];
  return html`<section><h2>Cost</h2>${table('Cost', facts, [
    { name: 'what', isHead: true, cellOf: ([what]) => what },
    { name: 'how much', isWide: true, cellOf: ([, amount]) => amount },
  ])}</section>`;
}
