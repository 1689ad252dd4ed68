import type { ScheduleName } from '../dashboard/board.ts';
import type { RunEnd } from '../dashboard/live-run.ts';
import { readToken } from '../dashboard/token.ts';
import { describeError } from '../exit-codes.ts';
import type { Job } from '../job/job.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import { openStatus } from '../status.ts';
import type { Summary } from '../watch/summary.ts';
import { openRunBoard } from './run-board.ts';
import type { RunContext } from './run-context.ts';
import { openRunPage } from './run-page.ts';

/** The surroundings of a run that is part of a larger process. */
export interface RunSurroundings {
  /** The name of the run in metrics. @default `enrich` */
  readonly name?: string;
  /** The instruments of its process. The run then has no server of its own. */
  readonly instruments?: InstrumentMaker | undefined;
  /** The Redis in which it is shown, for `brandfill dashboard`. @default the Redis of its queue */
  readonly board?: string | undefined;
  /** The schedule that makes it, if any. */
  readonly schedule?: ScheduleName | undefined;
}

/** A run that is shown over HTTP or in Redis. */
export interface RunStatus {
  /** The context for the run. */
  readonly context: RunContext;
  /** @param how how it ended; undefined when the caller took no more rows */
  readonly close: (how?: RunEnd) => Promise<void>;
}

export interface RunStatusOptions extends RunSurroundings {
  /** The name of a setting in messages. */
  readonly describe: (key: 'listen' | 'allowHost' | 'token' | 'tokenFile') => string;
  /** The token of the dashboard, if a program passes it. */
  readonly token: string | undefined;
}

/**
 * Opens the HTTP server of a run, if it has one, and shows the run in Redis if it has a queue.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address is not available, or the dashboard
 *   would be open to everyone
 */
export async function openRunStatus(
  job: Job,
  context: RunContext,
  options: RunStatusOptions,
): Promise<RunStatus> {
  const status = await openOwnStatus(job, context, options);
  const url = options.board ?? job.settings.queue;
  const board = await openRunBoard(url, status.context, options.schedule);
  return {
    context: board.context,
    close: async (how) => {
      await Promise.all([status.close(how), board.close(how)]);
    },
  };
}

async function openOwnStatus(
  job: Job,
  context: RunContext,
  { describe, token: given, name, instruments }: RunStatusOptions,
): Promise<RunStatus> {
  if (instruments) return measured(job, context, { name, instruments });
  const { listen, tokenFile } = job.settings;
  if (!listen) return { context, close: async () => {} };
  const token = readToken({ token: given, tokenFile, env: process.env, describe }, listen);
  const page = await openRunPage(job, context, { token, label: describe('allowHost') });
  const status = await openStatus({
    settings: job.settings,
    describe,
    command: 'enrich',
    routes: [page.routes],
    serves: 'the dashboard, /metrics, /livez and /readyz',
    onNotice: (message, { level = 'warn' } = {}) =>
      context.onEvent({ type: 'notice', message, level }),
  });
  if (!status) return { context, close: async () => {} };
  const { health } = status;
  const { signal } = page.context;
  health.check(() => (signal.aborted ? 'it was told to stop' : undefined));
  const run = measured(job, page.context, { name, ...status });
  return {
    context: {
      ...run.context,
      onEvent: (event) => {
        if (event.type === 'planned') health.started();
        run.context.onEvent(event);
      },
    },
    close: async (how) => {
      await run.close();
      await page.end(how);
      await status.close();
    },
  };
}

/** Makes a run, and shows its viewers how it ended. */
export async function makeInSight(
  { context, close }: RunStatus,
  run: (context: RunContext) => Promise<Summary>,
): Promise<Summary> {
  let how: RunEnd | undefined;
  try {
    const summary = await run(context);
    how = { summary };
    return summary;
  } catch (error) {
    how = { error: describeError(error) };
    throw error;
  } finally {
    await close(how);
  }
}

function measured(
  { settings }: Job,
  context: RunContext,
  {
    name = 'enrich',
    instruments,
  }: { readonly name: string | undefined; readonly instruments: InstrumentMaker },
): RunStatus {
  const run = instruments.forRun({ name, store: settings.store });
  return {
    context: {
      ...context,
      instruments: run,
      onEvent: (event) => {
        run.onEvent(event);
        context.onEvent(event);
      },
    },
    close: async () => run.end(),
  };
}
