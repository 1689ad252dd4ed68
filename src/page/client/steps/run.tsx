import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { api, ask } from '../api.ts';
import { Button, Copied, Note, Progress, Step, Table } from '../components.tsx';
import { costOf, count, counted, size } from '../format.ts';
import { RunCard } from '../run-card.tsx';
import { type AppRun, type AppState, announce, findView, goTo, useWork } from '../state.ts';

type RunStepName = AppRun['steps'][number];

const TITLES: Readonly<Record<AppRun['state'], string>> = {
  running: 'It is running',
  interrupted: 'It was interrupted',
  stopped: 'It is stopped',
  done: 'It is done',
  failed: 'It could not go on',
};

const LEADS: Readonly<Record<AppRun['state'], string>> = {
  running: 'You may close this page: it goes on, and is here when you come back.',
  interrupted:
    'Brandfill ended in the middle. Nothing is lost: going on asks only for the rest, and pays for nothing twice.',
  stopped: 'What was asked until then is kept. Going on asks only for the rest.',
  done: '',
  failed: 'What was asked until then is kept, and not paid for again.',
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
  const onAsk = (action: RunStepName): void =>
    work.start(action, () => ask(api.runs[':id'].ask.$post({ param: { id }, json: { action } })));
  const paid = costOf(run.cost);
  return (
    <Step
      title={TITLES[state]}
      lead={`${list.name}, with ${isRehearsal ? 'made-up answers' : connection}. ${counted(run.calls, 'call')}${paid === undefined ? '' : `, ${paid}`}. ${LEADS[state]}`}
      fault={work.fault.value}
    >
      <div class="actions">
        <Actions run={run} isBusy={work.isBusy()} onAsk={onAsk} />
      </div>
      {run.next !== undefined && !isGoing ? (
        <Note kind={state === 'failed' ? 'bad' : 'warning'}>{run.next}</Note>
      ) : null}
      {isGoing && !view ? <Progress label="Starting" text="It is about to start…" /> : null}
      {view ? (
        <RunCard view={isGoing ? view : withoutNext(view)} onAsk={isGoing ? onAsk : undefined} />
      ) : null}
      {result ? <Result run={run} version={run.endedAtMs} /> : null}
    </Step>
  );
}

/** Said above already, with what can be clicked. */
function withoutNext({ next: _, ...view }: NonNullable<ReturnType<typeof findView>>): typeof view {
  return view;
}

/** Says when it ends, or asks: those who hear the page do not see the title change. */
function useAnnouncedEnd(run: AppRun | undefined): void {
  const before = useRef(run?.state);
  useEffect(() => {
    if (run && before.current !== run.state) announce(`${run.list.name}: ${TITLES[run.state]}.`);
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
  const { id, state, steps, result, failures, list } = run;
  const canGoOn = steps.includes('go-on');
  const isFirst = !canGoOn || state === 'done';
  return (
    <>
      {result ? (
        <a
          class={`button ${isFirst ? 'primary' : 'plain'}`}
          href={`api/runs/${id}/result`}
          download={result.name}
        >
          Download the result ({size(result.sizeBytes)})
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
        <a class="button plain" href={`api/runs/${id}/failures`} download={failures.name}>
          Failures apart
        </a>
      ) : null}
      {state === 'failed' ? (
        <Button onPress={() => goTo('connect')}>Change the connection</Button>
      ) : null}
      {state === 'running' ? null : <Button onPress={() => goTo('list')}>Another list</Button>}
      {state === 'done' ? (
        <Button onPress={() => goTo('plan', list.id)}>The same list again</Button>
      ) : null}
    </>
  );
}

type Rows = Awaited<ReturnType<typeof rowsOf>>;

async function rowsOf(id: string) {
  return await ask(api.runs[':id'].rows.$get({ param: { id } }));
}

/** The first rows, as the file has them, and the command that does the same. */
function Result({ run, version }: { readonly run: AppRun; readonly version: number | undefined }) {
  const { id } = run;
  const work = useWork();
  const rows = useSignal<Rows | undefined>(undefined);
  const command = useSignal<{ command: string; keyVariable?: string | undefined } | undefined>(
    undefined,
  );
  useEffect(() => {
    work.start('rows', async () => {
      rows.value = await rowsOf(id);
      command.value = await ask(api.runs[':id'].command.$get({ param: { id } }));
    });
  }, [id, version]);
  const shown = rows.value;
  const { keyVariable } = command.value ?? {};
  return (
    <>
      {shown ? (
        <Table
          caption={`The first ${count(shown.rows.length)} rows of the result`}
          isSheet
          columns={['row#', ...shown.columns]}
          rows={shown.rows.map(({ number, cells }) => [count(number), ...cells])}
        />
      ) : work.fault.value ? (
        <Note kind="bad">{work.fault.value.message}</Note>
      ) : (
        <Progress label="Reading" text="Reading the result…" />
      )}
      {command.value && !run.isRehearsal ? (
        <details>
          <summary>The same as a command, for a terminal or every night</summary>
          <p>
            Put the path of your own file in place of <code>/path/to/{run.list.name}</code>
            {keyVariable === undefined ? null : (
              <>
                , and the key into the variable <code>{keyVariable}</code>
              </>
            )}
            . The result is written beside it. Companies that were asked about lately are not paid
            for again.
          </p>
          <Copied title="The command" text={command.value.command} />
        </details>
      ) : null}
    </>
  );
}
