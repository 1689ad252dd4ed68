import type { Job } from '../job/job.ts';
import type { InstrumentMaker } from '../metrics/create-instruments.ts';
import { openStatus } from '../status.ts';
import type { RunContext } from './run-context.ts';

/** What is around a run that is part of something else. */
export interface RunSurroundings {
  /** What metrics call the run. @default `enrich` */
  readonly name?: string;
  /** Those of the process that it runs in: it then has no server of its own. */
  readonly instruments?: InstrumentMaker | undefined;
}

/** A run in sight of whoever looks over HTTP. */
export interface RunStatus {
  /** What the run takes from outside. */
  readonly context: RunContext;
  readonly close: () => Promise<void>;
}

/**
 * Opens the HTTP server that a run is to have.
 *
 * @param label how the setting is called in messages
 * @throws BrandfillError `INVALID_SETTING` when the address cannot be had
 */
export async function openRunStatus(
  job: Job,
  context: RunContext,
  { label, name, instruments }: RunSurroundings & { readonly label: string },
): Promise<RunStatus> {
  if (instruments) return measured(job, context, { name, instruments });
  const { onEvent, signal } = context;
  const status = await openStatus({
    listen: job.settings.listen,
    label,
    command: 'enrich',
    onNotice: (message, { level = 'warn' } = {}) => onEvent({ type: 'notice', message, level }),
  });
  if (!status) return { context, close: async () => {} };
  const { health } = status;
  health.check(() => (signal.aborted ? 'it was told to stop' : undefined));
  const run = measured(job, context, { name, ...status });
  return {
    context: {
      ...run.context,
      onEvent: (event) => {
        if (event.type === 'planned') health.started();
        run.context.onEvent(event);
      },
    },
    close: async () => {
      await run.close();
      await status.close();
    },
  };
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
