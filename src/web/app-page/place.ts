import { computed, signal } from '@preact/signals';
import type { AppState } from '../app/contract.ts';
import { app, findRun } from './live.ts';

/**
 * Where somebody is on the way, kept in the address, so that the browser's buttons, a reload and a
 * bookmark do what they do elsewhere. What was chosen on the way is with the server.
 *
 *     no connection           a list            a run
 *     ┌─────────┐   ┌───────────────────────┐   ┌──────────────────┐
 *     connect ────► list ─► columns ─► plan ──► run ─► result ─► again
 *                    ▲                  │        ▲       │         │
 *                    │  another list    │        └ mend ─┘         │
 *                    └──────────────────┴──────────────────────────┘
 *
 * A step can be entered when what it is about is there: `columns` and `plan` need a list, `run`,
 * `result` and `again` a run. Every entrance goes through `goTo` or the address.
 */
export interface Place {
  readonly step: StepName;
  /** The list that it is about, or the run. */
  readonly id?: string | undefined;
}

/** All steps, in their order, with their names. */
export const STEPS = {
  connect: 'Connect',
  list: 'List',
  columns: 'Columns',
  plan: 'Plan',
  run: 'Run',
  result: 'Result',
  again: 'Again',
} as const;

export type StepName = keyof typeof STEPS;

/** Undefined until the first state has come, unless the address says. */
export const place = signal<Place | undefined>(placeOf(window.location.hash));

/** The list that the place is about, also where it is about a run. */
const listId = computed(() => {
  const { step, id } = place.value ?? { step: 'connect' };
  if (id === undefined) return undefined;
  return isAboutRun(step) ? findRun(id)?.list.id : id;
});

/** Enters a step; the browser's back button leads back from it. */
export function goTo(step: StepName, id?: string): void {
  const hash = addressOf(step, id);
  place.value = { step, id };
  if (window.location.hash !== hash) window.history.pushState(null, '', hash);
}

/** The address of a step, for a link. */
export function addressOf(step: StepName, id?: string): string {
  return id === undefined ? `#/${step}` : `#/${step}/${encodeURIComponent(id)}`;
}

/** Follows the address, and finds the first place when the first state comes. */
export function followAddress(): void {
  const follow = (): void => {
    place.value = placeOf(window.location.hash) ?? place.value;
  };
  window.addEventListener('popstate', follow);
  window.addEventListener('hashchange', follow);
  const stop = app.subscribe((state) => {
    if (!state) return;
    place.value ??= firstPlace(state);
    queueMicrotask(() => stop());
  });
}

/** Somebody who comes back comes to the run that needs them, or that goes on. */
function firstPlace({ runs, connection }: AppState): Place {
  const waiting = runs.find(({ state }) => state === 'asking' || state === 'running');
  const interrupted = runs[0]?.state === 'interrupted' ? runs[0] : undefined;
  const run = waiting ?? interrupted;
  if (run) return { step: 'run', id: run.id };
  return { step: connection ? 'list' : 'connect' };
}

/** Where each step leads from here; those that cannot be entered lead nowhere. */
export function reachable(here: Place, state: AppState): ReadonlyMap<StepName, Place> {
  const found = new Map<StepName, Place>([['connect', { step: 'connect' }]]);
  if (!state.connection) return found;
  const list = listId.value;
  found.set('list', { step: 'list', id: list });
  if (list !== undefined) {
    found.set('columns', { step: 'columns', id: list });
    found.set('plan', { step: 'plan', id: list });
  }
  const run = isAboutRun(here.step)
    ? state.runs.find(({ id }) => id === here.id)
    : state.runs.find((run) => run.list.id === list);
  if (run) {
    found.set('run', { step: 'run', id: run.id });
    if (run.result) found.set('result', { step: 'result', id: run.id });
  }
  if (state.runs.length > 0) found.set('again', { step: 'again', id: run?.id });
  return found;
}

function isAboutRun(step: StepName): boolean {
  return step === 'run' || step === 'result' || step === 'again';
}

function placeOf(hash: string): Place | undefined {
  const [, step = '', id] = /^#\/([a-z]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  if (!Object.hasOwn(STEPS, step)) return undefined;
  return { step: step as StepName, id: id === undefined ? undefined : decodeURIComponent(id) };
}
