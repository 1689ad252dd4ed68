import { type Signal, signal, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import type { RunView } from '../../watch/run-view.ts';
import type { PageState } from '../app/app.ts';
import type { Board } from '../board.ts';
import { type Fault, faultOf } from './api.ts';

// What the server says by itself. It is the only writer of these signals, so that two tabs, and a
// tab that comes back, show the same.

/** Of the app; a dashboard has none. */
export type AppState = PageState['app'];

interface Shown {
  readonly board: Board;
  readonly app?: AppState;
}

/** Undefined until the server has said it. */
export const shown = signal<Shown | undefined>(undefined);
export const link = signal<'connecting' | 'live' | 'lost' | 'signed_out'>('connecting');

/** A run that goes on, by its id. */
export function findView(id: string): RunView | undefined {
  return shown.value?.board.runs.find((run) => run.runId === id);
}

const AGAIN_MS = 3_000;

/** Listens for as long as the page is there. */
export function listen(): void {
  const events = new EventSource('api/events');
  events.addEventListener('open', () => {
    link.value = 'live';
  });
  events.addEventListener('message', ({ data }: MessageEvent<string>) => {
    shown.value = JSON.parse(data) as Shown;
  });
  events.addEventListener('error', () => {
    link.value = 'lost';
    // A browser gives up when it gets another kind of answer, as when it is signed out.
    if (events.readyState === EventSource.CLOSED) void listenAgain();
  });
}

async function listenAgain(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const answer = await fetch('api/events', { method: 'HEAD' }).catch(() => undefined);
    if (answer?.status !== 401) break;
    // Signing in on another tab signs this one in too.
    link.value = 'signed_out';
  }
  listen();
}

/**
 * Where somebody is, kept in the address, so that the browser's buttons, a reload and a bookmark do
 * what they do elsewhere. What was chosen on the way is with the server.
 *
 *     connect ────► list ─► columns ─► plan ──► run
 *                    ▲                           │
 *                    └───────────────────────────┘
 */
export interface Place {
  readonly step: StepName;
  /** The list that it is about. */
  readonly id?: string | undefined;
}

/** All steps, in their order, with their names. */
export const STEPS = {
  connect: 'Connect',
  list: 'List',
  columns: 'Columns',
  plan: 'Plan',
  run: 'Run and result',
} as const;

export type StepName = keyof typeof STEPS;

/** Undefined until the first state has come, unless the address says. */
export const place = signal<Place | undefined>(placeOf(window.location.hash));

/** The address of a place, for a link. */
export function addressOf({ step, id }: Place): string {
  return id === undefined ? `#/${step}` : `#/${step}/${encodeURIComponent(id)}`;
}

/** Enters a step; the browser's back button leads back from it. */
export function goTo(step: StepName, id?: string): void {
  place.value = { step, id };
  const hash = addressOf({ step, id });
  if (window.location.hash !== hash) window.history.pushState(null, '', hash);
}

/** Where somebody was on the way before they came to connect. */
let before: Place = { step: 'list' };
place.subscribe((here) => {
  if (here && here.step !== 'connect') before = here;
});

/** Leaves the connection for where somebody was, or for the list where that is for another API. */
export function goBack(isSame: boolean): void {
  goTo(isSame ? before.step : 'list', before.id);
}

/** Follows the address. */
export function followAddress(): void {
  const follow = (): void => {
    place.value = placeOf(window.location.hash) ?? place.value;
  };
  window.addEventListener('popstate', follow);
  window.addEventListener('hashchange', follow);
}

/** Somebody who comes back comes to the list that was last at work, or to its result. */
export function firstPlace({ lists: [last], connection }: AppState): Place {
  if (last) return { step: last.lastRun === undefined ? 'list' : 'run', id: last.id };
  return { step: connection ? 'list' : 'connect' };
}

function placeOf(hash: string): Place | undefined {
  const [, step = '', id] = /^#\/([a-z]+)(?:\/([^/]+))?$/.exec(hash) ?? [];
  if (!Object.hasOwn(STEPS, step)) return undefined;
  try {
    return { step: step as StepName, id: id === undefined ? undefined : decodeURIComponent(id) };
  } catch {
    return { step: step as StepName }; // a broken escape: somebody shortened it
  }
}

/** What is asked of the server, and what became of it. */
export function useWork() {
  const busy = useSignal<ReadonlySet<string>>(new Set());
  const fault = useSignal<Fault | undefined>(undefined);
  return useMemo(
    () => ({
      /** Of what failed last. */
      fault,
      /** Whether something is under way, or the one of that name. */
      isBusy: (name?: string): boolean =>
        name === undefined ? busy.value.size > 0 : busy.value.has(name),
      /** Does something, unless the same is under way already; what fails is shown, not thrown. */
      start: (name: string, work: () => Promise<unknown>): void => {
        if (busy.peek().has(name)) return;
        busy.value = new Set([...busy.peek(), name]);
        fault.value = undefined;
        work()
          .catch((error: unknown) => {
            fault.value = faultOf(error);
          })
          .finally(() => {
            busy.value = new Set([...busy.peek()].filter((other) => other !== name));
          });
      },
    }),
    [],
  );
}

/** What the server says, which it is asked when a part of the page begins, or is about another. */
export function useAsked<T>(
  work: ReturnType<typeof useWork>,
  ask: () => Promise<T>,
  about: readonly unknown[],
): Signal<T | undefined> {
  const said = useSignal<T | undefined>(undefined);
  useEffect(() => {
    work.start('read', async () => {
      said.value = await ask();
    });
  }, about);
  return said;
}

/** What is read out to those who hear the page. */
export const announced = signal('');

/** Tells those who hear the page what others see at a glance. */
export function announce(text: string): void {
  announced.value = text;
}
