import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { api, ask } from '../api.ts';
import { Button, FaultNote, Note, Progress, Step, Table } from '../components.tsx';
import { costOf, count, counted } from '../format.ts';
import { RunCard } from '../run-card.tsx';
import { type AppRun, type AppState, announce, findView, goTo, useWork } from '../state.ts';

type RunStepName = AppRun['steps'][number];

/** For each state a title, and what it means. */
const STATES: Readonly<Record<AppRun['state'], readonly [title: string, means: string]>> = {
  running: [
    'It is running',
    'You may close this page: it goes on, and is here when you come back.',
  ],
  interrupted: [
    'It was interrupted',
    'Brandfill ended in the middle. Nothing is lost: going on asks only for the rest, and pays for nothing twice.',
  ],
  stopped: ['It is stopped', 'What was asked until then is kept. Going on asks only for the rest.'],
  done: ['It is done', ''],
  failed: ['It could not go on', 'What was asked until then is kept, and not paid for again.'],
};

/** A run while it goes on, and its result. */
export function RunStep(props: { readonly id: string; readonly app: AppState }): JSX.Element {
  const { id, app } = props;
  const work = useWork();
  const run = app.runs.find((one) => one.id === id);
  const view = findView(id);
  useAnnouncedEnd(run);
  if (!run) {
    return (
      <Step
        title="This run is no longer here"
        lead="It was deleted, or is of another folder."
        actions={
          <Button kind="primary" onPress={() => goTo('list')}>
            Choose a list
          </Button>
        }
      />
    );
  }
  const { state, list, connection, isRehearsal, result } = run;
  const isGoing = state === 'running';
  const [title, means] = STATES[state];
  const onAsk = (action: RunStepName): void =>
    work.start(action, () => ask(api.runs[':id'].ask.$post({ param: { id }, json: { action } })));
  const paid = costOf(run.cost);
  return (
    <Step
      title={title}
      lead={`${list.name}, with ${isRehearsal ? 'made-up answers' : connection}. ${counted(run.calls, 'call')}${paid === undefined ? '' : `, ${paid}`}. ${means}`}
      fault={work.fault.value}
    >
      <div class="actions">
        <Actions run={run} isBusy={work.isBusy()} onAsk={onAsk} />
      </div>
      {run.next !== undefined && !isGoing ? (
        <Note kind={state === 'failed' ? 'bad' : 'warning'}>{run.next}</Note>
      ) : null}
      {isGoing && !view ? <Progress label="Starting" text="It is about to start…" /> : null}
      {result ? <Result run={run} /> : null}
      {view ? (
        // What is next is said above already, with what can be clicked.
        <RunCard
          view={isGoing ? view : { ...view, next: undefined }}
          onAsk={isGoing ? onAsk : undefined}
        />
      ) : null}
    </Step>
  );
}

/** Says when it ends, or asks: those who hear the page do not see the title change. */
function useAnnouncedEnd(run: AppRun | undefined): void {
  const before = useRef(run?.state);
  useEffect(() => {
    if (run && before.current !== run.state) announce(`${run.list.name}: ${STATES[run.state][0]}.`);
    before.current = run?.state;
  }, [run?.state]);
}

/** The first button is what most would do now. Those of a run that goes on are in its card. */
function Actions(props: {
  readonly run: AppRun;
  readonly isBusy: boolean;
  readonly onAsk: (step: RunStepName) => void;
}): JSX.Element {
  const { run, isBusy, onAsk } = props;
  const { id, state, steps, result, failures } = run;
  const canGoOn = steps.includes('go-on');
  const isFirst = !canGoOn || state === 'done';
  return (
    <>
      {result ? (
        <a
          class={`button ${isFirst ? 'primary' : 'plain'}`}
          href={`api/runs/${id}/result`}
          download={result}
        >
          Download the result
        </a>
      ) : null}
      {canGoOn ? (
        <Button
          kind={result && isFirst ? 'plain' : 'primary'}
          isBusy={isBusy}
          onPress={() => onAsk('go-on')}
        >
          {state === 'failed' ? 'Try again' : 'Go on'}
        </Button>
      ) : null}
      {failures ? (
        <a class="button plain" href={`api/runs/${id}/failures`} download={failures}>
          Failures apart
        </a>
      ) : null}
      {state === 'running' ? null : <Button onPress={() => goTo('list')}>Another list</Button>}
    </>
  );
}

async function resultOf(id: string) {
  const param = { id };
  return {
    ...(await ask(api.runs[':id'].rows.$get({ param }))),
    ...(await ask(api.runs[':id'].command.$get({ param }))),
  };
}

/** The first rows, as the file has them, and the command that does the same. */
function Result({ run }: { readonly run: AppRun }): JSX.Element {
  const { id, list, endedAtMs, isRehearsal } = run;
  const work = useWork();
  const result = useSignal<Awaited<ReturnType<typeof resultOf>> | undefined>(undefined);
  useEffect(() => {
    work.start('rows', async () => {
      result.value = await resultOf(id);
    });
  }, [id, endedAtMs]);
  if (work.fault.value) return <FaultNote fault={work.fault.value} />;
  if (!result.value) return <Progress label="Reading" text="Reading the result…" />;
  const { rows, columns, command, keyVariable } = result.value;
  return (
    <>
      <Table
        caption={`The first ${count(rows.length)} rows of the result`}
        isSheet
        columns={['row#', ...columns]}
        rows={rows.map(({ number, cells }) => [count(number), ...cells])}
      />
      {isRehearsal ? null : (
        <details>
          <summary>The same as a command, for a terminal or every night</summary>
          <p>
            Put the path of your own file in place of <code>/path/to/{list.name}</code>
            {keyVariable === undefined ? null : (
              <>
                , and the key into the variable <code>{keyVariable}</code>
              </>
            )}
            . The result is written beside it. Companies that were asked about lately are not paid
            for again.
          </p>
          <pre
            // What scrolls must be reachable by keyboard.
            // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
            tabIndex={0}
          >
            {command}
          </pre>
        </details>
      )}
    </>
  );
}
