import type { RunReport } from '../run-report.ts';
import { type Html, html } from './html.ts';
import { table } from './tables.ts';
import { latency, number, STATUSES } from './words.ts';

/** The domains that took longest, and those that were tried most often. */
export function domainsSection({ slowest, mostRetried }: RunReport): Html | false {
  if (slowest.length === 0 && mostRetried.length === 0) return false;
  return html`<section><h2>Domains</h2><div class="pair">
${
  slowest.length > 0 &&
  html`<div><h3>Slowest call</h3>${table('Domains with the slowest calls', slowest, [
    { name: 'domain', isHead: true, isCode: true, cellOf: ({ domain }) => domain },
    { name: 'took', isNumber: true, cellOf: ({ latencyMs }) => latency(latencyMs) },
    { name: 'answer', isCode: true, cellOf: ({ answer }) => answer },
  ])}</div>`
}
${
  mostRetried.length > 0 &&
  html`<div><h3>Tried most often</h3>${table('Domains that were tried most often', mostRetried, [
    { name: 'domain', isHead: true, isCode: true, cellOf: ({ domain }) => domain },
    { name: 'calls', isNumber: true, cellOf: ({ attempts }) => number(attempts) },
    {
      name: 'in the end',
      cellOf: ({ status, reason }) =>
        html`${STATUSES[status].name}${reason !== '' && html` <code class="muted">${reason}</code>`}`,
    },
  ])}</div>`
}
</div></section>`;
}
