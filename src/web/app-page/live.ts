import { signal } from '@preact/signals';
import type { AppEvents, AppRun, AppState } from '../app/contract.ts';
import type { RunState } from '../board.ts';
import { mergeRun } from '../page/merge-run.js';

// What the server says by itself. It is the only writer of these signals, so that two tabs, and a tab
// that comes back, show the same.

/** Undefined until the server has said it. */
export const app = signal<AppState | undefined>(undefined);
/** Runs that go on, by id, as the dashboard has them. */
export const liveRuns = signal<ReadonlyMap<string, RunState>>(new Map());
export const link = signal<'connecting' | 'live' | 'lost' | 'signed_out'>('connecting');

/** A run by its id; undefined when there is none. */
export function findRun(id: string): AppRun | undefined {
  return app.value?.runs.find((run) => run.id === id);
}

/** Listens for as long as the page is there. */
export function listen(): void {
  const events = new EventSource('api/events');
  const on = <E extends keyof AppEvents>(name: E, take: (data: AppEvents[E]) => void): void => {
    events.addEventListener(name, ({ data }: MessageEvent<string>) => take(JSON.parse(data)));
  };
  events.addEventListener('open', () => {
    link.value = 'live';
  });
  events.addEventListener('error', () => {
    link.value = 'lost';
    // A browser gives up when it gets another kind of answer, as when it is signed out.
    if (events.readyState === EventSource.CLOSED) void listenAgain();
  });
  on('state', (state) => {
    app.value = state;
  });
  on('board', ({ runs }) => {
    liveRuns.value = new Map(runs.map((run) => [run.id, run]));
  });
  on('change', ({ runs = [], gone = [] }) => {
    const after = new Map(liveRuns.value);
    for (const id of gone) after.delete(id);
    for (const change of runs) after.set(change.id, mergeRun(after.get(change.id), change));
    liveRuns.value = after;
  });
}

const AGAIN_MS = 3_000;

async function listenAgain(): Promise<void> {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    const status = await fetch('api/state').then(
      (answer) => answer.status,
      () => 0,
    );
    if (status !== 401) break;
    // Signing in on another tab signs this one in too.
    link.value = 'signed_out';
  }
  listen();
}
