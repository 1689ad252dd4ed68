import { signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, ask, type List, listOf } from '../api.ts';
import { Button, Choice, Field, Note, Progress, Step, Table } from '../components.tsx';
import { counted } from '../format.ts';
import { type AppState, announce, goTo, useWork } from '../state.ts';

type Samples = Awaited<ReturnType<typeof askAbout>>;
type Chosen = NonNullable<List['fields']>;

async function askAbout(id: string) {
  return await ask(api.lists[':id'].samples.$post({ param: { id } }));
}

/** Answers that were paid for, by list: going back to a step does not ask for them again. */
const known = signal<ReadonlyMap<string, Samples>>(new Map());

/** What to add to the rows, seen on real answers. */
export function ColumnsStep(props: { readonly id: string; readonly app: AppState }): JSX.Element {
  const { id, app } = props;
  const work = useWork();
  const fields = useSignal<Chosen | null>(null);
  /** What came just now, perhaps nothing to choose from. */
  const asked = useSignal<Samples | undefined>(undefined);
  const samples = known.value.get(id) ?? asked.value;
  useEffect(() => {
    work.start('read', async () => {
      fields.value = (await listOf(id)).fields;
    });
  }, [id]);
  const askThree = (): void =>
    work.start('ask', async () => {
      const found = await askAbout(id);
      asked.value = found;
      if (found.fields.length > 0) known.value = new Map(known.value).set(id, found);
      const count = found.domains.filter(({ status }) => status === 'found').length;
      announce(found.problem ?? `Answers for ${counted(count, 'company', 'companies')} are there.`);
    });
  const goOn = (): void =>
    work.start('keep', async () => {
      const json = { fields: fields.value };
      await ask(api.lists[':id'].fields.$post({ param: { id }, json }));
      goTo('plan', id);
    });
  if (!samples?.fields.length) {
    return (
      <Step
        title="What would you like to know?"
        lead={`To show what can be added to your rows, three companies of your list are asked about first. ${priceOf(app)}`}
        fault={work.fault.value}
        actions={
          <>
            <Button kind="primary" onPress={askThree} isBusy={work.isBusy('ask')}>
              Ask about three companies
            </Button>
            <Button onPress={() => goTo('plan', id)}>Skip this: add the usual</Button>
          </>
        }
      >
        {work.isBusy('ask') ? <Progress label="Asking" text="Asking the API…" /> : null}
        {samples ? <Troubles of={samples} /> : null}
      </Step>
    );
  }
  const { domains, calls, whole } = samples;
  const names = domains.map(({ domain }) => domain);
  const chosen = fields.value;
  const isUsable =
    chosen === null || (chosen.length > 0 && !chosen.some((_, at) => faultOf(chosen, at)));
  return (
    <Step
      title="What would you like to know?"
      lead={`Here is what is known of ${names.join(', ')}. Leave out and rename what you like; your choice is kept for next time. ${counted(calls, 'call')} made.`}
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" isDisabled={!isUsable} isBusy={work.isBusy('keep')} onPress={goOn}>
            Go on to the plan
          </Button>
          <Button onPress={() => goTo('list', id)}>Back to the list</Button>
        </>
      }
    >
      <Troubles of={samples} />
      {whole === undefined ? null : <p>{whole}.</p>}
      <ChooseFields
        samples={samples}
        chosen={chosen ?? allOf(samples)}
        onChange={(after) => {
          fields.value = after;
        }}
      />
    </Step>
  );
}

function Troubles({ of: { domains, problem } }: { readonly of: Samples }): JSX.Element {
  return (
    <>
      {problem === undefined ? null : <Note kind="bad">{problem}</Note>}
      {domains.map(({ domain, status, message }) =>
        status === 'found' || status === 'skipped' ? null : (
          <Note key={domain} kind="warning">
            <strong>{domain}:</strong> {message}
          </Note>
        ),
      )}
    </>
  );
}

function priceOf({ connection }: AppState): string {
  if (connection?.isRehearsal) return 'Free: this is a rehearsal.';
  const { unit, price = '' } = connection ?? {};
  const billed = unit === undefined ? '' : `, billed in ${unit}`;
  const money = price === '' ? '' : ` at ${price} each`;
  return `That is three calls${billed}${money}; they are not paid for again in the run.`;
}

/** All that is known, each with a box to tick and a name of its own. */
function ChooseFields(props: {
  readonly samples: Samples;
  readonly chosen: Chosen;
  readonly onChange: (chosen: Chosen) => void;
}): JSX.Element {
  const { samples, chosen, onChange } = props;
  return (
    <>
      <p>
        Add{' '}
        <Button kind="link" onPress={() => onChange(allOf(samples))}>
          all
        </Button>{' '}
        or{' '}
        <Button kind="link" onPress={() => onChange([])}>
          none
        </Button>
      </p>
      <Table
        caption="What is known"
        isStacked
        columns={['add', 'name of the column', ...samples.domains.map(({ domain }) => domain)]}
        rows={samples.fields.map(({ name, expression, values }) => {
          const at = chosen.findIndex((field) => field.expression === expression);
          const field = chosen[at];
          const toggle = (isChosen: boolean): void =>
            onChange(
              isChosen
                ? [...chosen, { name, expression }]
                : chosen.filter((other) => other.expression !== expression),
            );
          return [
            <Choice key="add" label={name} isChosen={field !== undefined} onChange={toggle} />,
            field ? (
              <Field
                key="name"
                label={`Name of ${name}`}
                isNamed
                prefix="brand_"
                value={field.name}
                error={faultOf(chosen, at)}
                onInput={(text) =>
                  onChange(chosen.map((one) => (one === field ? { ...one, name: text } : one)))
                }
              />
            ) : null,
            ...values,
          ];
        })}
      />
    </>
  );
}

function allOf({ fields }: Samples): Chosen {
  return fields.map(({ name, expression }) => ({ name, expression }));
}

/** What is wrong with the name of a chosen field, if something is. */
function faultOf(fields: Chosen, at: number): string | undefined {
  const name = fields[at]?.name.trim() ?? '';
  if (name === '') return 'Every column needs a name.';
  const isDouble = fields.some((field, other) => other !== at && field.name.trim() === name);
  return isDouble ? 'Another column has this name.' : undefined;
}
