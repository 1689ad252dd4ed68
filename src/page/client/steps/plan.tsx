import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import { api, ask } from '../api.ts';
import { Button, Figures, Note, NumberField, Progress, Step } from '../components.tsx';
import { costOf, count, counted, duration, rate } from '../format.ts';
import { type AppState, goTo, useWork } from '../state.ts';

type Plan = Awaited<ReturnType<typeof planOf>>;

async function planOf(id: string) {
  return await ask(api.lists[':id'].plan.$post({ param: { id }, json: {} }));
}

/** What the run will do and cost, and how far it may go. */
export function PlanStep(props: { readonly id: string; readonly app: AppState }): JSX.Element {
  const { id, app } = props;
  const planning = useWork();
  const starting = useWork();
  const plan = useSignal<Plan | undefined>(undefined);
  const maxCalls = useSignal<number | undefined>(undefined);
  useEffect(() => {
    planning.start('plan', async () => {
      plan.value = await planOf(id);
    });
  }, [id]);
  const found = plan.value;
  const going = app.runs.find(({ list, state }) => list.id === id && state === 'running');
  const start = (): void =>
    starting.start('start', async () => {
      const json = { maxCalls: maxCalls.value };
      goTo('run', (await ask(api.lists[':id'].runs.$post({ param: { id }, json }))).id);
    });
  return (
    <Step
      title="Ready to start?"
      lead="Nothing has been asked yet, apart from the companies that you looked at. This is what the run will do."
      fault={starting.fault.value ?? planning.fault.value}
      actions={
        <>
          <Button
            kind="primary"
            onPress={start}
            isBusy={starting.isBusy()}
            isDisabled={!found || going !== undefined}
          >
            Start
          </Button>
          <Button onPress={() => goTo('columns', id)}>Back to the columns</Button>
        </>
      }
    >
      {going ? (
        <Note kind="warning">
          A run of this list goes on. <a href={`#/run/${going.id}`}>See it</a>
        </Note>
      ) : null}
      {found ? (
        <PlanFigures plan={found} isFree={app.connection?.kind === 'sandbox'} />
      ) : planning.fault.value ? null : (
        <Progress label="Counting" text="Reading the whole list…" />
      )}
      <NumberField
        label="Calls, at most"
        value={maxCalls.value}
        step={1}
        placeholder="no bound"
        hint="Such as 20, to see first what comes of them; then it can go on."
        onChange={(value) => {
          maxCalls.value = value === 0 ? undefined : value;
        }}
      />
    </Step>
  );
}

function PlanFigures(props: { readonly plan: Plan; readonly isFree: boolean }): JSX.Element {
  const { plan, isFree } = props;
  const { rows, companies, duplicates, fresh, invalid, durationMs, ratePerSecond: pace } = plan;
  const paid = costOf(plan.cost);
  const unknown = ['Not known', 'say what a call costs, in Connect'] as const;
  return (
    <>
      <Figures
        items={[
          [
            'Calls',
            count(plan.calls),
            `one for each of ${counted(plan.lookups, 'company', 'companies')}`,
          ],
          [
            'It will cost',
            ...(isFree
              ? (['Nothing', 'a rehearsal'] as const)
              : paid === undefined
                ? unknown
                : ([paid, 'at most, if nothing is asked twice'] as const)),
          ],
          [
            'It will take',
            durationMs === undefined ? 'Not known yet' : `About ${duration(durationMs)}`,
            pace === undefined ? 'the pace shows when it runs' : `at ${rate(pace)}`,
          ],
          ['Rows', count(rows)],
          ['Companies', count(companies), `${counted(duplicates, 'row')} repeat one`],
          ['Known before', count(fresh), 'companies that cost nothing'],
          ['Rows without a web address', count(invalid)],
        ]}
      />
      {invalid > 0 ? (
        <details>
          <summary>{counted(invalid, 'row has', 'rows have')} no web address: why</summary>
          <ul>
            {plan.invalidReasons.map(({ count: rows, words, examples }) => (
              <li key={words}>
                {count(rows)}: {words}
                {examples.length > 0 ? `, such as “${examples.join('”, “')}”` : ''}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
      {plan.notices.map((notice) => (
        <Note key={notice} kind="warning">
          {notice}
        </Note>
      ))}
    </>
  );
}
