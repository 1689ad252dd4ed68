import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type {
  AppState,
  ChosenFill,
  ColumnChoice,
  ListView,
  Preview,
  Samples,
} from '../../app/contract.ts';
import { firstFields, isUsable, leavesOf, samplesOf, toggled } from '../choices.ts';
import { type Fault, faultOf, post, read } from '../client.ts';
import { Button, Cell, Choice, Note, Progress, Select, Step, Wide } from '../controls.tsx';
import { ChosenFields, FieldTree } from '../fields.tsx';
import { goTo } from '../place.ts';
import { viewOrder } from '../view-order.ts';
import { costOf, counted, moneyOf, STATUSES } from '../words.ts';
import { announce, useWork } from '../work.ts';

/** What to add to the rows, seen on real answers. */
export function ColumnsStep(props: { readonly id: string; readonly state: AppState }): JSX.Element {
  const { id, state } = props;
  const work = useWork();
  const list = useSignal<ListView | undefined>(undefined);
  const samples = samplesOf.value.get(id);
  useEffect(
    () =>
      work.start('read', async () => {
        list.value = await read<ListView>(`lists/${id}`);
      }),
    [id],
  );
  const ask = (): void =>
    work.start('ask', async () => {
      const found = await post<Samples>(`lists/${id}/samples`, { count: COUNT });
      samplesOf.value = new Map(samplesOf.value).set(id, found);
      announce(`Answers for ${counted(found.domains.length, 'company', 'companies')} are there.`);
    });
  if (samples && list.value && samples.tree.length > 0) {
    return <ChooseColumns id={id} list={list.value} samples={samples} onAskAgain={ask} />;
  }
  const isAsking = work.isBusy('ask');
  return (
    <Step
      title="What would you like to know?"
      lead={`To show what can be added to your rows, ${COUNT_WORD} companies of your list are asked about first. ${priceOf(state)}`}
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" onPress={ask} isBusy={isAsking} isDisabled={!list.value}>
            Ask about {COUNT_WORD} companies
          </Button>
          <Button kind="quiet" onPress={() => goTo('plan', id)}>
            Skip this: add the usual
          </Button>
        </>
      }
    >
      {isAsking ? <Progress label="Asking" part={undefined} text="Asking the API…" /> : null}
      {samples ? <WhatCame samples={samples} /> : null}
    </Step>
  );
}

const COUNT = 3;
const COUNT_WORD = 'three';

function priceOf({ connection }: AppState): string {
  if (connection?.kind === 'sandbox') return 'Free: this is a rehearsal.';
  const { unit, price } = connection ?? {};
  if (unit === undefined && price === undefined) return 'That is three calls.';
  const money = price === undefined ? '' : `, about ${moneyOf(price * COUNT)}`;
  return `That is three calls${unit === undefined ? '' : `, billed in ${unit}`}${money}; they are not paid for again in the run.`;
}

/** What came of the companies, where it is worth a word. */
function WhatCame({ samples }: { readonly samples: Samples }): JSX.Element {
  return (
    <Note kind={samples.problem ? 'bad' : 'info'}>
      {samples.problem ? (
        <p>
          <strong>{samples.problem}</strong>
        </p>
      ) : null}
      <ul class="came">
        {samples.domains.map(({ domain, status, message }) => (
          <li key={domain}>
            <strong>{domain}</strong>: {STATUSES[status].name}
            {status === 'not_found' || message === '' ? '' : `. ${message}`}
          </li>
        ))}
      </ul>
    </Note>
  );
}

type Extent = 'all' | 'chosen';

function ChooseColumns(props: {
  readonly id: string;
  readonly list: ListView;
  readonly samples: Samples;
  readonly onAskAgain: () => void;
}): JSX.Element {
  const { id, list, samples } = props;
  const choice = useSignal<ColumnChoice>(list.choice);
  const { preview, fault, isOld } = usePreview(id, choice.value);
  const { fields, fills } = choice.value;
  const set = (change: Partial<ColumnChoice>): void => {
    choice.value = { ...choice.value, ...change };
  };
  const usable = isUsable(choice.value);
  const cost = costOf(samples.cost);
  return (
    <Step
      title="What would you like to know?"
      lead={`Here is what is known of ${samples.domains.map(({ domain }) => domain).join(', ')}. Your choice is kept for next time. ${counted(samples.calls, 'call')} made${cost === undefined ? '' : `, ${cost}`}.`}
      fault={fault}
      actions={
        <>
          <Button
            kind="primary"
            isDisabled={!usable}
            isBusy={isOld}
            onPress={() => goTo('plan', id)}
          >
            Go on to the plan
          </Button>
          <Button onPress={() => goTo('list', id)}>Back to the list</Button>
        </>
      }
    >
      {samples.problem || samples.domains.some(({ status }) => status !== 'found') ? (
        <WhatCame samples={samples} />
      ) : null}
      <Choice<Extent>
        legend="What to add"
        value={fields === null ? 'all' : 'chosen'}
        onChange={(extent) => set({ fields: extent === 'all' ? null : firstFields(samples.tree) })}
        options={[
          {
            value: 'all',
            title: 'The usual columns',
            text: 'Those that this service is known for, or else all. The table below shows them.',
          },
          { value: 'chosen', title: 'What I choose', text: 'Tick, rename and order columns.' },
        ]}
      />
      {fields === null ? null : (
        <div class="columns">
          <section class="panel" aria-label="What is known">
            <h3>What is known</h3>
            <FieldTree
              tree={samples.tree}
              isChosen={({ expression }) => fields.some((field) => field.expression === expression)}
              onToggle={(node, isWanted) => set({ fields: toggled(fields, node, isWanted) })}
            />
          </section>
          <section class="panel" aria-label="Your columns">
            <h3>Your columns</h3>
            <ChosenFields fields={fields} onChange={(after) => set({ fields: after })} />
          </section>
        </div>
      )}
      <Fills
        list={list}
        samples={samples}
        fills={fills}
        onChange={(after) => set({ fills: after })}
      />
      {preview ? (
        <PreviewTable preview={preview} domainColumn={list.column?.index} isOld={isOld} />
      ) : null}
    </Step>
  );
}

/** Time without another change after which the table is made anew. */
const QUIET_MS = 200;

/** The table as the choice makes it; the server keeps the choice when it makes it. */
function usePreview(
  id: string,
  choice: ColumnChoice,
): {
  readonly preview: Preview | undefined;
  readonly fault: Fault | undefined;
  readonly isOld: boolean;
} {
  const preview = useSignal<Preview | undefined>(undefined);
  const fault = useSignal<Fault | undefined>(undefined);
  const isOld = useSignal(true);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isUsable(choice)) {
      isOld.value = false;
      return;
    }
    let isWanted = true;
    isOld.value = true;
    const load = async (): Promise<void> => {
      try {
        const made = await post<Preview>(`lists/${id}/preview`, choice);
        if (!isWanted) return;
        preview.value = made;
        fault.value = undefined;
      } catch (error) {
        if (isWanted) fault.value = faultOf(error);
      }
      if (isWanted) isOld.value = false;
    };
    const timer = setTimeout(() => void load(), isFirst.current ? 0 : QUIET_MS);
    isFirst.current = false;
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [id, choice]);
  return { preview: preview.value, fault: fault.value, isOld: isOld.value };
}

function Fills(props: {
  readonly list: ListView;
  readonly samples: Samples;
  readonly fills: readonly ChosenFill[];
  readonly onChange: (fills: readonly ChosenFill[]) => void;
}): JSX.Element {
  const { list, samples, fills, onChange } = props;
  const places = leavesOf(samples.tree).map(({ name, expression }) => ({
    value: expression,
    text: name,
  }));
  const free = list.columns.filter(
    (name, at) => at !== list.column?.index && !fills.some(({ column }) => column === name),
  );
  const [first] = free;
  const expression = places[0]?.value;
  const replace = (at: number, change: Partial<ChosenFill>): void =>
    onChange(fills.map((fill, other) => (other === at ? { ...fill, ...change } : fill)));
  return (
    <details class="fills" open={fills.length > 0}>
      <summary>Fill blank cells of your own columns</summary>
      <p class="hint">What is in a cell already is never changed.</p>
      {fills.length > 0 ? (
        <ul class="rows">
          {fills.map((fill, at) => (
            <li key={fill.column}>
              <Select
                label="Where it is blank, fill"
                value={fill.column}
                onChange={(column) => replace(at, { column })}
                options={[fill.column, ...free].map((name) => ({ value: name, text: name }))}
              />
              <Select
                label="with"
                value={fill.expression}
                onChange={(expression) => replace(at, { expression })}
                options={places}
              />
              <Button
                kind="quiet"
                label={`Remove the filling of ${fill.column}`}
                onPress={() => onChange(fills.filter((_, other) => other !== at))}
              >
                Remove
              </Button>
            </li>
          ))}
        </ul>
      ) : null}
      {first === undefined || expression === undefined ? null : (
        <Button onPress={() => onChange([...fills, { column: first, expression }])}>
          Fill {fills.length > 0 ? 'another' : 'a'} column
        </Button>
      )}
    </details>
  );
}

function PreviewTable(props: {
  readonly preview: Preview;
  readonly domainColumn: number | undefined;
  readonly isOld: boolean;
}): JSX.Element {
  const { preview, domainColumn, isOld } = props;
  const order = viewOrder(preview.columns, domainColumn);
  return (
    <Wide label="How these rows will look" isOld={isOld}>
      <table class="sheet">
        <caption>
          How these rows will look{' '}
          <span class="hint">New columns come first here; in your file they come at the end.</span>
        </caption>
        <thead>
          <tr>
            {order.map((at) => (
              <th key={at} scope="col" class={preview.columns[at]?.kind}>
                {preview.columns[at]?.name}
                {preview.columns[at]?.kind === 'filled' ? <span class="badge">filled</span> : null}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {preview.rows.map((row, line) => (
            <tr key={line}>
              {order.map((at) => (
                <td key={at} class={preview.columns[at]?.kind}>
                  <Cell text={row[at]} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Wide>
  );
}
