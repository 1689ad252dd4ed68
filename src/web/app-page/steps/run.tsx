import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { AppRun, AppState, RunStep as Asked, SampledView } from '../../app/contract.ts';
import type { RunState } from '../../board.ts';
import { count } from '../../page/format.js';
import { createRunCard } from '../../page/run-card.js';
import { post } from '../client.ts';
import { Button, Cell, Figures, Note, Progress, Step, Wide } from '../controls.tsx';
import { findRun, liveRuns } from '../live.ts';
import { goTo } from '../place.ts';
import {
  costOf,
  counted,
  dayAndTime,
  RUN_STATES,
  STATUSES,
  statusesOf,
  summaryOf,
} from '../words.ts';
import { announce, useWork, type Work } from '../work.ts';

/** A run while it goes on, and what is to be done when it does not. */
export function RunStep(props: { readonly id: string; readonly state: AppState }): JSX.Element {
  const { id, state } = props;
  const work = useWork();
  const run = findRun(id);
  const live = liveRuns.value.get(id);
  useAnnouncedEnd(run);
  if (!run) return <GoneStep work={work} />;
  const ask = (step: Asked): void =>
    work.start(step, async () => {
      await post(`runs/${id}/${step}`);
    });
  return (
    <Step
      title={TITLES[run.state]}
      lead={leadOf(run)}
      fault={work.fault.value}
      actions={actionsOf(run, work, ask)}
    >
      {run.error ? (
        <Note kind="bad">
          <p>
            <strong>{run.error}</strong>
          </p>
        </Note>
      ) : null}
      {run.sampled && run.state === 'asking' ? <Sampled sampled={run.sampled} /> : null}
      {isOver(run) ? <HowItEnded run={run} /> : null}
      {live && !isOver(run) && run.state !== 'asking' ? (
        <>
          <CostSoFar live={live} run={run} state={state} />
          <Card run={live} ask={ask} />
        </>
      ) : null}
      {live && isOver(run) ? (
        <details>
          <summary>How it went</summary>
          <Card run={live} ask={ask} />
        </details>
      ) : null}
      {!live && run.state === 'running' ? (
        <Progress label="Starting" part={undefined} text="It is about to start…" />
      ) : null}
    </Step>
  );
}

function isOver({ state }: AppRun): boolean {
  return state !== 'running' && state !== 'asking';
}

const TITLES: Readonly<Record<AppRun['state'], string>> = {
  running: 'It is running',
  asking: 'Shall it go on?',
  interrupted: 'It was interrupted',
  stopped: 'It is stopped',
  done: 'It is done',
  failed: 'It could not go on',
};

function leadOf({ state, list, connection, isRehearsal }: AppRun): string {
  const what = `${list.name}, with ${isRehearsal ? 'made-up answers' : connection}.`;
  switch (state) {
    case 'running':
      return `${what} You may close this page: it goes on, and is here when you come back.`;
    case 'asking':
      return `${what} These are the first answers.`;
    case 'interrupted':
      return `${what} Brandfill ended in the middle. Nothing is lost: going on asks only for the rest, and pays for nothing twice.`;
    case 'stopped':
      return `${what} What was asked until then is in the result. Going on asks only for the rest.`;
    case 'failed':
      return `${what} What was asked until then is kept, and not paid for again.`;
    default:
      return what;
  }
}

/** Says when it ends, or asks: those who hear the page do not see the title change. */
function useAnnouncedEnd(run: AppRun | undefined): void {
  const before = useRef(run?.state);
  useEffect(() => {
    if (run && before.current !== undefined && before.current !== run.state) {
      announce(`${run.list.name}: ${RUN_STATES[run.state].name}. ${run.lines[0] ?? ''}`);
    }
    before.current = run?.state;
  }, [run?.state]);
}

function GoneStep({ work }: { readonly work: Work }): JSX.Element {
  return (
    <Step
      title="This run is no longer here"
      lead="It was deleted, or is of another folder."
      fault={work.fault.value}
      actions={
        <>
          <Button kind="primary" onPress={() => goTo('list')}>
            Choose a list
          </Button>
          <Button onPress={() => goTo('again')}>Earlier runs</Button>
        </>
      }
    />
  );
}

/** The buttons of a run that waits or is over; those of one that goes on are in its card. */
function actionsOf(
  run: AppRun,
  work: Work,
  ask: (step: Asked) => void,
): readonly JSX.Element[] | undefined {
  const can = (step: Asked): boolean => run.steps.includes(step);
  const buttons: JSX.Element[] = [];
  // The first one is what most would do now; it alone is the primary one.
  const add = (text: string, key: string, onPress: () => void): void => {
    buttons.push(
      <Button
        key={key}
        kind={buttons.length === 0 ? 'primary' : 'plain'}
        isBusy={work.isBusy(key)}
        onPress={onPress}
      >
        {text}
      </Button>,
    );
  };
  if (can('yes')) add('Yes, go on', 'yes', () => ask('yes'));
  if (can('no')) add('No, that is enough', 'no', () => ask('no'));
  if (run.state === 'done') add('Show the result', 'result', () => goTo('result', run.id));
  if (can('go-on')) {
    add(run.state === 'failed' ? 'Try again' : 'Go on', 'go-on', () => ask('go-on'));
  }
  if (run.state !== 'done' && run.result) {
    add('Show the result so far', 'result', () => goTo('result', run.id));
  }
  if (run.state === 'failed') add('Change the connection', 'connect', () => goTo('connect'));
  return buttons.length === 0 ? undefined : buttons;
}

/** The dashboard's card: made once, and shown each state as it comes. */
function Card(props: { readonly run: RunState; readonly ask: (step: Asked) => void }): JSX.Element {
  const { run, ask } = props;
  const place = useRef<HTMLDivElement>(null);
  const card = useRef<ReturnType<typeof createRunCard> | undefined>(undefined);
  const before = useRef<RunState | undefined>(undefined);
  const asks = useRef(ask);
  asks.current = ask;
  useEffect(() => {
    if (!card.current) {
      card.current = createRunCard(run.id, (action) => asks.current(action));
      place.current?.append(card.current.element);
    }
    card.current.show(run, before.current);
    before.current = run;
  }, [run]);
  return <div ref={place} class="card-place" />;
}

/** In what the API bills, or in money where somebody said what a call costs. */
function CostSoFar(props: {
  readonly live: RunState;
  readonly run: AppRun;
  readonly state: AppState;
}): JSX.Element | null {
  const { live, run, state } = props;
  const { progress } = live;
  if (!progress || run.isRehearsal) return null;
  const { price } = state.connection ?? {};
  const units = progress.billed?.units ?? progress.calls;
  const text = costOf({
    ...progress.billed,
    money: price === undefined ? undefined : price * units,
  });
  if (text === undefined) return null;
  return <p class="so-far">Cost so far: {text}</p>;
}

function HowItEnded({ run }: { readonly run: AppRun }): JSX.Element {
  const statuses = statusesOf(run);
  return (
    <div class="panel">
      {statuses.length > 0 ? <p class="headline">{summaryOf(run)}</p> : null}
      {statuses.length > 0 ? (
        <Figures
          items={statuses.map(([status, rows]) => ({
            name: STATUSES[status].name,
            value: count(rows),
          }))}
        />
      ) : null}
      {run.lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      <p class="hint">
        Started {dayAndTime(run.startedAtMs)}
        {run.endedAtMs === undefined ? '' : `, ended ${dayAndTime(run.endedAtMs)}`}.
      </p>
    </div>
  );
}

function Sampled({ sampled }: { readonly sampled: SampledView }): JSX.Element {
  const { left } = sampled;
  const cost = costOf(sampled.cost);
  const costLeft = costOf(left.cost);
  const width = Math.max(0, ...sampled.domains.map(({ values }) => values.length));
  return (
    <>
      <p class="headline">
        So far {counted(sampled.calls, 'call')}
        {cost === undefined ? '' : `, ${cost}`}. Left:{' '}
        <strong>
          {counted(left.companies, 'company', 'companies')}, {counted(left.calls, 'call')}
          {costLeft === undefined ? '' : `, ${costLeft}`}
        </strong>
        .
      </p>
      <Wide label="The first answers">
        <table class="sheet">
          <caption>The first answers</caption>
          <thead>
            <tr>
              <th scope="col">Company</th>
              <th scope="col">What came</th>
              {width > 0 ? (
                <th scope="col" colSpan={width}>
                  What is known
                </th>
              ) : null}
            </tr>
          </thead>
          <tbody>
            {sampled.domains.map(({ domain, status, values }) => (
              <tr key={domain}>
                <th scope="row">{domain}</th>
                <td>{nameOf(status)}</td>
                {Array.from({ length: width }, (_, at) => (
                  <td key={at}>
                    <Cell text={values[at]} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
      {moneyNote(sampled)}
    </>
  );
}

/** Says so where nobody knows what calls cost. */
function moneyNote({ cost }: SampledView): JSX.Element | null {
  if (costOf(cost) !== undefined) return null;
  return <p class="hint">What a call costs is not known: you can say so in Connect.</p>;
}

function nameOf(status: string): string {
  return Object.hasOwn(STATUSES, status) ? STATUSES[status as keyof typeof STATUSES].name : status;
}
