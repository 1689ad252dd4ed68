import { type JSX, render } from 'preact';
import { useEffect } from 'preact/hooks';
import type { AppState } from '../app/contract.ts';
import { Note } from './controls.tsx';
import { app, link, listen } from './live.ts';
import {
  addressOf,
  followAddress,
  goTo,
  type Place,
  place,
  reachable,
  STEPS,
  type StepName,
} from './place.ts';
import { AgainStep } from './steps/again.tsx';
import { ColumnsStep } from './steps/columns.tsx';
import { ConnectStep } from './steps/connect.tsx';
import { ListStep } from './steps/list.tsx';
import { PlanStep } from './steps/plan.tsx';
import { ResultStep } from './steps/result.tsx';
import { RunStep } from './steps/run.tsx';
import { announced } from './work.ts';

function Page(): JSX.Element {
  const state = app.value;
  const here = place.value;
  return (
    <>
      <a class="skip" href="#step" onClick={skipToStep}>
        Skip to the step
      </a>
      <header class="top">
        <h1 class="brand">Brandfill</h1>
        {state ? <Connected state={state} /> : null}
        <Link />
      </header>
      {state && here ? <Stepper here={here} state={state} /> : null}
      <main id="step" tabIndex={-1}>
        {state && here ? <StepOf here={here} state={state} /> : <Waiting />}
      </main>
      {state ? (
        <footer class="bottom">
          Lists, results and answers are on this computer, in <code>{state.folder}</code>. Nothing
          leaves it but the calls to the API. Version {state.version}.
        </footer>
      ) : null}
      <output class="unseen">{announced.value}</output>
    </>
  );
}

/** The address is the place on the way, so a link within the page may not change it. */
function skipToStep(event: Event): void {
  event.preventDefault();
  document.getElementById('step')?.focus();
}

function StepOf({ here, state }: { readonly here: Place; readonly state: AppState }): JSX.Element {
  const { step, id } = here;
  // A step about another list or run is another one: nothing of the last one stays in it.
  switch (step) {
    case 'connect':
      return <ConnectStep state={state} />;
    case 'list':
      return <ListStep key={id ?? 'new'} id={id} state={state} />;
    case 'again':
      return <AgainStep key={id ?? 'all'} id={id} state={state} />;
    case 'columns':
      return id === undefined ? <Lost /> : <ColumnsStep key={id} id={id} state={state} />;
    case 'plan':
      return id === undefined ? <Lost /> : <PlanStep key={id} id={id} state={state} />;
    case 'run':
      return id === undefined ? <Lost /> : <RunStep key={id} id={id} state={state} />;
    case 'result':
      return id === undefined ? <Lost /> : <ResultStep key={id} id={id} state={state} />;
  }
}

/** The address is of a step, but not of what: somebody shortened it. */
function Lost(): JSX.Element | null {
  useEffect(() => goTo('list'), []);
  return null;
}

function Waiting(): JSX.Element {
  if (link.value === 'signed_out') return <SignedOut />;
  return <p class="waiting">{link.value === 'lost' ? NO_ANSWER : 'One moment…'}</p>;
}

const NO_ANSWER =
  'Brandfill does not answer. If its window is closed, start it again: npx brandfill app. Nothing is lost.';

function SignedOut(): JSX.Element {
  return (
    <Note kind="warning">
      <p>
        <strong>This page is signed out.</strong> Open the address that Brandfill shows where it was
        started.
      </p>
    </Note>
  );
}

function Connected({ state }: { readonly state: AppState }): JSX.Element {
  const { connection } = state;
  if (!connection) return <p class="connected">Not connected to an API yet</p>;
  return (
    <p class="connected">
      {connection.kind === 'sandbox' ? (
        <span class="badge warning">Rehearsal: made-up answers, free</span>
      ) : (
        <>
          Connected to <strong>{connection.title}</strong>
        </>
      )}
    </p>
  );
}

/** Says when what is shown may be old. */
function Link(): JSX.Element {
  const text =
    link.value === 'lost' && app.value
      ? 'Brandfill does not answer. What you see is from before; if its window is closed, start it again.'
      : link.value === 'signed_out' && app.value
        ? 'Signed out: open the address that Brandfill shows where it was started.'
        : '';
  return <output class="link">{text}</output>;
}

function Stepper(props: { readonly here: Place; readonly state: AppState }): JSX.Element {
  const { here, state } = props;
  const names = Object.keys(STEPS) as StepName[];
  const at = names.indexOf(here.step);
  const leads = reachable(here, state);
  return (
    <nav class="stepper" aria-label="Steps">
      <p class="where" aria-hidden="true">
        Step {at + 1} of {names.length}
      </p>
      <ol>
        {names.map((name, index) => {
          const target = leads.get(name);
          const mark = index < at ? 'past' : index === at ? 'here' : 'ahead';
          const content = (
            <>
              <span class="number" aria-hidden="true">
                {index + 1}
              </span>
              <span class="name">{STEPS[name]}</span>
            </>
          );
          return (
            <li key={name} class={mark}>
              {target && index !== at ? (
                <a
                  href={addressOf(target.step, target.id)}
                  onClick={(event) => {
                    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
                    event.preventDefault();
                    goTo(target.step, target.id);
                  }}
                >
                  {content}
                </a>
              ) : (
                <span aria-current={index === at ? 'step' : undefined}>{content}</span>
              )}
            </li>
          );
        })}
      </ol>
    </nav>
  );
}

const root = document.getElementById('app');
if (root) {
  root.replaceChildren();
  render(<Page />, root);
}
followAddress();
listen();
window.addEventListener('dragover', refuseFile);
window.addEventListener('drop', refuseFile);

/** A file that misses its place would otherwise be opened instead of this page. */
function refuseFile(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}
