import type { JSX } from 'preact';
import type { PlanView } from '../app/contract.ts';
import { count } from '../page/format.js';
import { Figures } from './controls.tsx';
import { counted, sentence } from './words.ts';

/** What a list holds, counted. */
export function PlanFigures({ plan }: { readonly plan: PlanView }): JSX.Element {
  return (
    <Figures
      items={[
        { name: 'Rows', value: count(plan.rows) },
        { name: 'Companies', value: count(plan.companies) },
        {
          name: 'Duplicates',
          value: count(plan.duplicates),
          note: plan.duplicates > 0 ? 'asked about once' : undefined,
        },
        {
          name: 'Known already',
          value: count(plan.fresh),
          note: plan.fresh > 0 ? 'asked before, free' : undefined,
        },
        {
          name: 'Without an address',
          value: count(plan.invalid),
          note: plan.invalid > 0 ? 'stay as they are' : undefined,
        },
      ]}
    />
  );
}

/** The cells that hold no address, by what is wrong with them, with some of them. */
export function WithoutAddress({ plan }: { readonly plan: PlanView }): JSX.Element | null {
  if (plan.invalid === 0) return null;
  return (
    <details class="without">
      <summary>{counted(plan.invalid, 'row has', 'rows have')} no web address: why</summary>
      <ul>
        {plan.invalidReasons.map((reason) => (
          <li key={reason.reason}>
            {sentence(reason.count, reason.words)}
            {reason.examples.length > 0 ? (
              <span class="hint">
                {reason.examples.map(({ row, cell }, at) => (
                  <span key={row}>
                    {at > 0 ? '; ' : ''}
                    row {count(row)}: <q>{cell}</q>
                  </span>
                ))}
              </span>
            ) : null}
          </li>
        ))}
      </ul>
      <p class="hint">You can mend them in the result, and ask about those alone.</p>
    </details>
  );
}
