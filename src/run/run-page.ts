import type { RunEnd } from '../dashboard/live-run.ts';
import type { Routes } from '../http/listener.ts';
import type { Job } from '../job/job.ts';
import { recordRun } from './record-run.ts';
import type { RunContext } from './run-context.ts';

/** The dashboard of one run, served by its own process. */
export interface RunPage {
  readonly routes: Routes;
  /** What the run takes from outside; what it tells goes to the page too. */
  readonly context: RunContext;
  /** Tells all who look how the run ended, and lets them go. */
  end(how: RunEnd | undefined): Promise<void>;
}

/**
 * Makes the page of a run.
 *
 * @param token undefined lets everybody in who asks for this machine
 */
export async function openRunPage(
  { settings }: Job,
  context: RunContext,
  token: string | undefined,
): Promise<RunPage> {
  // Loaded here, so that whoever wants no page need not wait for it.
  const { openDashboard, showOwnRun } = await import('../dashboard/index.ts');
  const { recorder, control, context: recorded } = await recordRun(context);
  const source = showOwnRun({ recorder, control, concurrency: settings.concurrency });
  const dashboard = await openDashboard({ source, token });
  return {
    routes: dashboard.routes,
    context: recorded,
    end: async (how) => {
      if (how) recorder.end(how);
      await dashboard.close();
    },
  };
}
