import { hostname } from 'node:os';
import { describeError } from '../common/errors.ts';
import { SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { createRunControl, type RunControl } from '../common/run-control.ts';
import { toCleanJson } from '../common/secrets.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import type { Job } from '../options/api.ts';
import type { announceRun } from '../queue/bullmq/runs/run-board.ts';
import type { Summary } from '../watch/summary.ts';
import type { RunAction, ScheduleName } from '../web/board.ts';
import type { Routes } from '../web/listener.ts';
import type { LiveRun, RunEnd } from '../web/live-run.ts';
import type { RunContext } from './run-context.ts';

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
  // Loaded here, so that a run without a server need not wait for it.
  const { readToken } = await import('../web/access.ts');
  const { openStatus } = await import('../metrics/status.ts');
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

/** The dashboard of one run, served by its own process. */
interface RunPage {
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
async function openRunPage(
  { settings }: Job,
  context: RunContext,
  access: { readonly token: string | undefined; readonly label: string },
): Promise<RunPage> {
  // Loaded here, so that a run without a page need not wait for it.
  const { openDashboard } = await import('../web/dashboard.ts');
  const { showOwnRun } = await import('../web/live-run.ts');
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

/** Shows a run in Redis, for `brandfill dashboard`. */
interface RunBoard {
  /** The context of the run, whose events also go to Redis. */
  readonly context: RunContext;
  close(how: RunEnd | undefined): Promise<void>;
}

/**
 * Shows a run in Redis, and takes requests to it from there. The run goes on if Redis cannot be
 * used: a run that needs Redis reports that itself.
 *
 * @param url undefined to show the run nowhere
 * @param schedule the schedule that makes the run, if any
 */
export async function openRunBoard(
  url: string | undefined,
  context: RunContext,
  schedule?: ScheduleName,
): Promise<RunBoard> {
  if (url === undefined) return { context, close: async () => {} };
  // Loaded here, so that a run without Redis need not wait for it.
  const [{ announceRun, openQueueServer }, { applyAction }, recorded] = await Promise.all([
    import('../queue/bullmq/index.ts'),
    import('../web/live-run.ts'),
    recordRun(context, schedule),
  ]);
  const { recorder, control } = recorded;
  // Not awaited: if Redis does not answer, a run that needs it reports that.
  const showing = show(url, { openQueueServer, announceRun }, () => ({
    id: context.runId,
    describe: () => toCleanJson(recorder.read()),
    onAsked: (action) => void applyAction(recorder.read(), control, action as RunAction),
  }));
  return {
    context: recorded.context,
    close: async (how) => {
      if (how) recorder.end(how);
      const shown = await showing;
      await shown?.close();
    },
  };
}

type Announcing = Pick<typeof import('../queue/bullmq/index.ts'), 'openQueueServer'> & {
  readonly announceRun: typeof announceRun;
};

async function show(
  url: string,
  { openQueueServer, announceRun }: Announcing,
  describe: () => Parameters<typeof announceRun>[1],
): Promise<{ close(): Promise<void> } | undefined> {
  try {
    const redis = await openQueueServer({
      url,
      acceptEviction: true,
      isTraced: false,
      onNotice: () => {},
    });
    const announced = announceRun(redis.client, describe());
    return {
      close: async () => {
        await within(SHUTDOWN_TIMEOUT_MS, announced.close());
        await redis.close();
      },
    };
  } catch {
    return undefined;
  }
}

/** A run that is recorded, so that a dashboard can show it. */
interface RecordedRun {
  readonly recorder: LiveRun;
  /** Steers the run. It is the control of the caller, if there is one. */
  readonly control: RunControl;
  /** The context of the run, whose events also go to the recorder. */
  readonly context: RunContext;
}

/**
 * Records a run that is about to start.
 *
 * @param schedule the schedule that makes the run, if any
 */
async function recordRun(context: RunContext, schedule?: ScheduleName): Promise<RecordedRun> {
  // Loaded here, so that a run without a dashboard need not wait for it.
  const { createLiveRun } = await import('../web/live-run.ts');
  const { control = createRunControl(), onEvent, runId, signal } = context;
  const about = { id: runId, host: hostname(), pid: process.pid, startedAtMs: Date.now() };
  const recorder = createLiveRun({ ...about, control, schedule });
  return {
    recorder,
    control,
    context: {
      ...context,
      control,
      signal: AbortSignal.any([signal, control.stopped]),
      onEvent: (event) => {
        recorder.show(event);
        onEvent(event);
      },
    },
  };
}
