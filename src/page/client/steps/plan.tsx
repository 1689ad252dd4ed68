import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunRequest } from '../../app/lists.ts';
import { api, ask } from '../api.ts';
import { Button, Figures, Note, NumberField, Progress, Step } from '../components.tsx';
import { costOf, count, counted, duration, rate } from '../format.ts';
import { type AppState, goTo, useWork } from '../state.ts';

export type Plan = Awaited<ReturnType<typeof planOf>>;

export async function planOf(id: string, json: RunRequest) {
  return await ask(api.lists[':id'].plan.$post({ param: { id }, json }));
}

const QUIET_MS = 300;

/** What the run will do and cost, and how far it may go. */
export function PlanStep(props: { readonly id: string; readonly app: AppState }): JSX.Element {
  const { id, app } = props;
  const { connection, runs } = app;
  const planning = useWork();
  const starting = useWork();
  const plan = useSignal<Plan | undefined>(undefined);
  const bounds = useSignal<RunRequest>({});
  const request = bounds.value;
  const asked = JSON.stringify(request);
  useEffect(() => {
    let isWanted = true;
    const load = (): void =>
      planning.start(asked, async () => {
        const made = await planOf(id, request);
        if (isWanted) plan.value = made;
      });
    const timer = setTimeout(load, plan.peek() ? QUIET_MS : 0);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [id, asked]);
  const bound = (key: 'maxCalls' | 'maxCost', label: string, hint?: string) => (
    <NumberField
      label={label}
      value={request[key]}
      isWhole={key === 'maxCalls'}
      placeholder="no bound"
      hint={hint}
      onChange={(value) => {
        bounds.value = { ...request, [key]: value === 0 ? undefined : value };
      }}
    />
  );
  const found = plan.value;
  const going = runs.find(({ list, state }) => list.id === id && state === 'running');
  const isFree = connection?.kind === 'sandbox';
  const start = (): void =>
    starting.start('start', async () => {
      const run = await ask(api.lists[':id'].runs.$post({ param: { id }, json: request }));
      goTo('run', run.id);
    });
  const paid = found && costOf(found.cost);
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
            isDisabled={!found || planning.isBusy() || going !== undefined}
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
        <div aria-busy={planning.isBusy()} aria-live="polite">
          <Figures
            items={[
              ['Calls', count(found.calls), madeFor(found)],
              [
                'It will cost',
                isFree ? 'Nothing' : (paid ?? 'Not known'),
                isFree
                  ? 'a rehearsal'
                  : paid === undefined
                    ? 'say what a call costs, in Connect'
                    : 'at most, if nothing is asked twice',
              ],
              [
                'It will take',
                found.durationMs === undefined
                  ? 'Not known yet'
                  : `About ${duration(found.durationMs)}`,
                found.ratePerSecond === undefined
                  ? 'the pace shows when it runs'
                  : `at ${rate(found.ratePerSecond)}`,
              ],
            ]}
          />
          <PlanFigures plan={found} />
          {found.notices.map((notice) => (
            <Note key={notice} kind="warning">
              {notice}
            </Note>
          ))}
        </div>
      ) : planning.fault.value ? null : (
        <Progress label="Counting" text="Reading the whole list…" />
      )}
      <fieldset>
        <legend>How far may it go?</legend>
        <div class="pair">
          {bound('maxCalls', 'Calls, at most', 'Such as 20, to see first what comes of them.')}
          {connection?.unit === undefined
            ? null
            : bound('maxCost', `Cost in ${connection.unit}, at most`)}
        </div>
      </fieldset>
    </Step>
  );
}

function madeFor({ calls, lookups }: Plan): string {
  const companies = counted(lookups, 'company', 'companies');
  return calls < lookups ? `for ${count(calls)} of ${companies}` : `one for each of ${companies}`;
}

/** What is in a list. */
export function PlanFigures({ plan }: { readonly plan: Plan }): JSX.Element {
  const { rows, companies, duplicates, fresh, invalid, invalidReasons } = plan;
  return (
    <>
      <Figures
        items={[
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
            {invalidReasons.map(({ count: rows, words, examples }) => (
              <li key={words}>
                {count(rows)}: {words}
                {examples.length > 0 ? `, such as “${examples.join('”, “')}”` : ''}
              </li>
            ))}
          </ul>
        </details>
      ) : null}
    </>
  );
}
