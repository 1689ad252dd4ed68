import { hostname } from 'node:os';
import { createRunControl } from '../common/run-control.ts';
import type { RunEnd } from '../dashboard/live-run.ts';
import type { Routes } from '../http/listener.ts';
import type { Job } from '../job/job.ts';
import type { RunContext } from './run-context.ts';

/** The dashboard of one run, served by its own process. */
export interface RunPage {
  readonly routes: Routes;
  /** The context of the run, whose events also go to the page. */
  readonly context: RunContext;
  /** Shows to all viewers how the run ended, and closes their connections. */
  end(how: RunEnd | undefined): Promise<void>;
}

/**
 * Makes the page of a run.
 *
 * @param token undefined to let in everyone who connects under a name of this machine
 */
export async function openRunPage(
  { settings }: Job,
  context: RunContext,
  token: string | undefined,
): Promise<RunPage> {
  // Loaded here, so that a run without a page need not wait for it.
  const { createLiveRun, openDashboard, showOwnRun } = await import('../dashboard/index.ts');
  const { control = createRunControl(), onEvent } = context;
  const recorder = createLiveRun({
    id: context.runId,
    host: hostname(),
    pid: process.pid,
    startedAtMs: Date.now(),
    control,
  });
  const source = showOwnRun({ recorder, control, concurrency: settings.concurrency });
  const dashboard = await openDashboard({ source, token });
  return {
    routes: dashboard.routes,
    context: {
      ...context,
      control,
      signal: AbortSignal.any([context.signal, control.stopped]),
      onEvent: (event) => {
        recorder.show(event);
        onEvent(event);
      },
    },
    end: async (how) => {
      if (how) recorder.end(how);
      await dashboard.close();
    },
  };
}
