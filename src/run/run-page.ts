import type { RunEnd } from '../dashboard/live-run.ts';
import type { Routes } from '../http/listener.ts';
import type { Job } from '../job/job.ts';
import { recordRun } from './record-run.ts';
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
 * @param access whose token is undefined to let in everyone who asks under a known name, and whose
 *   label is the name of the setting `allowHost` in messages
 */
export async function openRunPage(
  { settings }: Job,
  context: RunContext,
  access: { readonly token: string | undefined; readonly label: string },
): Promise<RunPage> {
  // Loaded here, so that a run without a page need not wait for it.
  const { openDashboard, showOwnRun } = await import('../dashboard/index.ts');
  const { recorder, control, context: recorded } = await recordRun(context);
  const source = showOwnRun({ recorder, control, concurrency: settings.concurrency });
  const dashboard = await openDashboard({
    source,
    ...access,
    allowHost: settings.allowHost,
    trustedProxy: settings.trustedProxy,
  });
  return {
    routes: dashboard.routes,
    context: recorded,
    end: async (how) => {
      if (how) recorder.end(how);
      await dashboard.close();
    },
  };
}
