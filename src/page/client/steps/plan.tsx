import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { api, ask } from '../api.ts';
import { Button, Field, Figures, Note, Progress, Step } from '../components.tsx';
import { costOf, count, counted, duration, rate } from '../format.ts';
import { startOf } from '../moment.ts';
import { type AppState, findView, goTo, useAsked, useWork } from '../state.ts';

type Plan = Awaited<ReturnType<typeof planOf>>;

async function planOf(id: string) {
  return await ask(api.lists[':id'].plan.$post({ param: { id } }));
}

/** What the run will do and cost, and how far it may go. */
export function PlanStep(props: { readonly id: string; readonly app: AppState }): JSX.Element {
  const { id, app } = props;
  const planning = useWork();
  const starting = useWork();
  const plan = useAsked(planning, () => planOf(id), [id]);
  const typed = useSignal('');
  const isUsable = /^\s*(?:[1-9]\d{0,14}\s*)?$/.test(typed.value);
  const maxCalls = Number(typed.value) || undefined;
  const found = plan.value;
  const isGoing = findView(id) !== undefined;
  const start = (): void =>
    starting.start('start', async () => {
      const json = { maxCalls };
      await ask(api.lists[':id'].run.$post({ param: { id }, json }));
      goTo('run', id);
    });
  return (
    <Step
      title="Ready to start?"
      lead="This is what the run will do. Companies that were asked about lately are not asked again."
      fault={starting.fault.value ?? planning.fault.value}
      actions={
        <>
          <Button
            kind="primary"
            onPress={start}
            isBusy={starting.isBusy()}
            isDisabled={!found || isGoing || !isUsable}
          >
            {found ? startOf(found, maxCalls) : 'Start'}
          </Button>
          <Button onPress={() => goTo('columns', id)}>Back to the columns</Button>
        </>
      }
    >
      {isGoing ? (
        <Note kind="warning">
          A run of this list goes on. <a href={`#/run/${id}`}>See it</a>
        </Note>
      ) : null}
      {found ? (
        <PlanFigures plan={found} isFree={app.connection?.isRehearsal === true} />
      ) : planning.fault.value ? null : (
        <Progress label="Counting" text="Reading the whole list…" />
      )}
      <Field
        label="Calls, at most"
        value={typed.value}
        placeholder="no bound"
        hint="Such as 20, to see first what comes of them; then it can go on."
        error={isUsable ? undefined : 'Type a whole number, or nothing for no bound.'}
        onInput={(text) => {
          typed.value = text;
        }}
      />
    </Step>
  );
}

function PlanFigures(props: { readonly plan: Plan; readonly isFree: boolean }): JSX.Element {
  const { plan, isFree } = props;
  const { rows, uniqueDomains, invalidRows, estimate } = plan;
  const paid = costOf(plan);
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
                : ([`About ${paid}`, 'if nothing is asked twice'] as const)),
          ],
          [
            'It will take',
            estimate ? `About ${duration(estimate.durationMs)}` : 'Not known yet',
            estimate ? `at ${rate(estimate.limitPerSecond)}` : 'the pace shows when it runs',
          ],
          ['Rows', count(rows)],
          [
            'Companies',
            count(uniqueDomains),
            counted(rows - invalidRows - uniqueDomains, 'row repeats one', 'rows repeat one'),
          ],
          ['Known before', count(plan.freshDomains), 'companies that cost nothing'],
          ['Rows without a web address', count(invalidRows)],
        ]}
      />
      {plan.notices.map((notice) => (
        <Note key={notice} kind="warning">
          {notice}
        </Note>
      ))}
    </>
  );
}
