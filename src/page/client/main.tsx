import { type JSX, render } from 'preact';
import { useEffect } from 'preact/hooks';
import type { RunView } from '../../watch/run-view.ts';
import { Note } from './components.tsx';
import { RunCard } from './run-card.tsx';
import { RunsPage } from './runs.tsx';
import {
  type AppState,
  addressOf,
  announced,
  firstPlace,
  followAddress,
  goTo,
  link,
  listen,
  type Place,
  place,
  STEPS,
  type StepName,
  shown,
} from './state.ts';
import { ColumnsStep } from './steps/columns.tsx';
import { ConnectStep } from './steps/connect.tsx';
import { ListStep } from './steps/list.tsx';
import { PlanStep } from './steps/plan.tsx';
import { RunStep } from './steps/run.tsx';

function Page(): JSX.Element {
  const { app, board } = shown.value ?? {};
  const here = app && (place.value ?? firstPlace(app));
  useEffect(() => {
    if (app) place.value ??= firstPlace(app);
  }, [app === undefined]);
  return (
    <>
      <a class="skip" href="#page" onClick={skip}>
        Skip to the page
      </a>
      <header class="head">
        <h1>Brandfill</h1>
        {app ? <Connected app={app} /> : null}
      </header>
      <p role="status" class="wrong">
        {LINKS[link.value]}
      </p>
      {app && here ? <Stepper here={here} app={app} /> : null}
      <main id="page" tabIndex={-1}>
        {app && here ? <StepOf here={here} app={app} /> : null}
        {board && !app ? <RunsPage board={board} /> : null}
        {shown.value ? null : <p>One moment…</p>}
      </main>
      {app ? (
        <footer class="hint">
          Lists, results and answers are on this computer, in <code>{app.folder}</code>. Nothing
          leaves it but the calls to the API. Version {app.version}.
        </footer>
      ) : null}
      <output class="unseen">{announced.value}</output>
    </>
  );
}

const LINKS: Readonly<Record<(typeof link)['value'], string>> = {
  connecting: '',
  live: '',
  lost: 'Brandfill does not answer: what you see is from before. If it was closed, start it again; nothing is lost.',
  signed_out: 'Signed out: open the address that Brandfill shows where it was started.',
};

/** The address is the place on the way, so a link within the page may not change it. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('page')?.focus();
}

function StepOf({ here, app }: { readonly here: Place; readonly app: AppState }): JSX.Element {
  const { step, id } = here;
  // A step about another list or run is another one: nothing of the last one stays in it.
  if (step === 'list') return <ListStep key={id ?? 'new'} id={id} app={app} />;
  if (id !== undefined && step === 'columns') return <ColumnsStep key={id} id={id} app={app} />;
  if (id !== undefined && step === 'plan') return <PlanStep key={id} id={id} app={app} />;
  if (id !== undefined && step === 'run') return <RunStep key={id} id={id} />;
  return step === 'connect' ? <ConnectStep app={app} /> : <Lost />;
}

/** The address is of a step, but not of what: somebody shortened it. */
function Lost(): null {
  useEffect(() => goTo('list'), []);
  return null;
}

function Connected({ app: { connection } }: { readonly app: AppState }): JSX.Element {
  if (!connection) return <p class="quiet">Not connected to an API yet</p>;
  if (connection.isRehearsal) {
    return <span class="badge warning">Rehearsal: made-up answers, free</span>;
  }
  const { title, auth, hasKey } = connection;
  return (
    <p class={auth === 'none' || hasKey ? 'quiet' : 'wrong'}>
      API: <strong>{title}</strong>
      {auth === 'none' || hasKey ? null : ', its key is not known: type it under Connect'}
    </p>
  );
}

function Stepper({ here, app }: { readonly here: Place; readonly app: AppState }): JSX.Element {
  const { id } = here;
  const list = app.lists.find((one) => one.id === id);
  /** Whether each step can be entered from here. */
  const canEnter: Readonly<Record<StepName, boolean>> = {
    connect: true,
    list: app.connection !== null,
    columns: list !== undefined,
    plan: list !== undefined,
    run: list?.lastRun !== undefined,
  };
  return (
    <nav aria-label="Steps">
      <ol class="stepper">
        {(Object.keys(STEPS) as StepName[]).map((step, at) => {
          const text = `${at + 1}. ${STEPS[step]}`;
          const isHere = here.step === step;
          return (
            <li key={step} aria-current={isHere ? 'step' : undefined}>
              {isHere || !canEnter[step] ? text : <a href={addressOf({ step, id })}>{text}</a>}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

/** The page with one run inside, which nobody serves. */
function Report({ view }: { readonly view: RunView }): JSX.Element {
  return (
    <>
      <header class="head">
        <h1>Brandfill report</h1>
      </header>
      <main id="page">
        <p>
          {new Date(view.startedAt).toLocaleString(undefined, {
            dateStyle: 'full',
            timeStyle: 'short',
          })}
        </p>
        {view.command === undefined ? null : <pre>{view.command}</pre>}
        <RunCard view={view} isAlone />
        <Note kind="info">
          Made by Brandfill {view.brandfill}. Example rows are from the list, answers from the API:
          share it with nobody who may not see them.
        </Note>
      </main>
    </>
  );
}

const root = document.getElementById('app');
const data = document.getElementById('data')?.textContent;
root?.replaceChildren();
if (root && data) render(<Report view={JSON.parse(data) as RunView} />, root);
else if (root) {
  render(<Page />, root);
  followAddress();
  listen();
  window.addEventListener('dragover', refuseFile);
  window.addEventListener('drop', refuseFile);
}

/** A file that misses its place would otherwise be opened instead of this page. */
function refuseFile(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}
