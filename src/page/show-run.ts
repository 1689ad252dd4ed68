import { extname } from 'node:path';
import { type OutputFile, openOutputFile } from '../collector/output/output-file.ts';
import { describeError, EXIT, exitCodeOfError, type OnNotice } from '../common/errors.ts';
import type { FileAccess } from '../common/files.ts';
import { type Closable, createCloser, SHUTDOWN_TIMEOUT_MS, within } from '../common/lifetime.ts';
import { createRunControl, type RunControl } from '../common/run-control.ts';
import { redactDeep, toCleanJson, withoutSecrets } from '../common/secrets.ts';
import { apisOf, type Job, nameApi } from '../profile/job.ts';
import type { RanTo } from '../run/enrich.ts';
import type { RunContext } from '../run/run-context.ts';
import type { Metrics } from '../watch/metrics.ts';
import { type RunRecorder, recordRun } from '../watch/record-run.ts';
import { type RunAction, type RunView, viewInWords } from '../watch/run-view.ts';
import { applyAction, showOwnRun } from './board.ts';

/** The surroundings of a run that is part of a larger process. */
export interface RunSurroundings {
  /** What the list is called. @default as it was given */
  readonly list?: string | undefined;
  /** The name of the run in metrics. @default `enrich` */
  readonly name?: string;
  /** The metrics of its process. The run then has no server of its own. */
  readonly metrics?: Metrics | undefined;
  /** The Redis in which it is shown, for `brandfill dashboard`. @default the Redis of its queue */
  readonly board?: string | undefined;
  /** The schedule that makes it, if any. */
  readonly schedule?: RunView['schedule'] | undefined;
  /** The command that was typed. @default none was */
  readonly command?: string | undefined;
  /**
   * Puts messages, which name options by their keys, into the words of whoever reads them. @default
   * as they are, for programs
   */
  readonly words?: ((message: string) => string) | undefined;
  /** Called with what records the run, before it begins. */
  readonly onRecorder?: ((recorder: RunRecorder) => void) | undefined;
}

export interface ShowRunOptions extends Omit<RunSurroundings, 'list'> {
  /** The token of the dashboard, if a program passes it. */
  readonly token: string | undefined;
  /** The list, as given. */
  readonly list: string;
}

/**
 * Records a run. One recorder feeds its report, its own server, the dashboard in Redis and metrics.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address is not available, or the dashboard
 *   would be open to everyone
 */
export async function showRun(job: Job, given: RunContext, options: ShowRunOptions) {
  const { settings } = job;
  const { schedule, list, command, words = asItIs } = options;
  const closer = createCloser();
  const { control = createRunControl() } = given;
  const { runId } = given;
  const apis = apisOf(job);
  const queues = apis.map(({ endpoint }) => endpoint.queueName).join(', ');
  const queue = settings.queue === undefined ? undefined : queues;
  const api = apis.map((one) => nameApi(one.settings)).join(', ');
  const about = { runId, list, schedule, api, queue, command };
  const recorder = inWords(recordRun({ ...about, control }), words);
  options.onRecorder?.(recorder);
  let health: { started(): void } | undefined;
  const context: RunContext = {
    ...given,
    control,
    signal: AbortSignal.any([given.signal, control.stopped]),
    onEvent: (event) => {
      recorder.onEvent(event);
      if (event.type === 'planned') health?.started();
      const isText = event.type === 'notice';
      given.onEvent(isText ? { ...event, message: words(event.message) } : event);
    },
    report: { recorder, openFiles: (from) => files.open(from) },
  };
  // Only a notice, because the rows are in their places, or there is a more important error.
  const onFailed = (error: unknown): void =>
    context.onEvent({ type: 'notice', message: `There is no report: ${describeError(error)}` });
  const files = closer.add(new ReportFiles(settings.report ?? [], onFailed));

  try {
    const { name = 'enrich' } = options;
    let { metrics } = options;
    if (!metrics) {
      const status = await openOwnStatus(job, {
        recorder,
        control,
        options,
        context: { ...context, onEvent: given.onEvent }, // its address is no news of the run
      });
      if (status) ({ health, metrics } = closer.add(status));
    }
    metrics?.forRun(name, () => recorder.read());
    const board = options.board ?? settings.queue;
    // Not awaited: if Redis does not answer, a run that needs it reports that.
    const announced = board === undefined ? undefined : announce(board, recorder, control);
    closer.add({ close: async () => await (await announced)?.close() });
    const measured: RunContext = {
      ...context,
      ...(metrics && { onQueues: metrics.forQueues }),
    };
    return {
      /** The context for the run. */
      context: measured,
      /** Shows how it ended, and writes its reports. Returns the run as it ended. */
      end: async (ranTo: RanTo): Promise<RunView> => {
        recorder.end(ranTo);
        const reports = await files.write(recorder.read());
        return { ...recorder.read(), ...(reports.length > 0 && { reports }) };
      },
      /** The same for a run that came to nothing. */
      fail: async (error: unknown): Promise<void> => {
        const why = describeError(error);
        const exitCode = exitCodeOfError(error);
        const end = exitCode === EXIT.interrupted ? 'interrupted' : 'error';
        recorder.end({ end, why, exitCode });
        // A run that made no call leaves the report of the last one.
        if (recorder.read().calls > 0) await files.write(recorder.read());
      },
      /** Must be called after all. */
      close: (): Promise<void> => closer.close(),
    };
  } catch (error) {
    await closer.close();
    throw error;
  }
}

const asItIs = (message: string): string => message;

/** A recorder whose views speak to whoever reads them. */
function inWords(recorder: RunRecorder, words: (message: string) => string): RunRecorder {
  return { ...recorder, read: () => viewInWords(recorder.read(), words) };
}

interface Recorded {
  readonly recorder: RunRecorder;
  readonly control: RunControl;
  readonly options: ShowRunOptions;
  readonly context: RunContext;
}

/** Opens the HTTP server of a run, if it has one: its page, metrics and health. */
async function openOwnStatus({ settings }: Job, { recorder, control, options, context }: Recorded) {
  const { listen } = settings;
  if (!listen) return undefined;
  // Loaded here, so that a run without a server need not wait for it.
  const { readToken } = await import('./access.ts');
  const { openStatus } = await import('./status.ts');
  const { createDashboard } = await import('./dashboard.ts');
  // A name that it listens on may be asked for; a run has no option for others.
  const { token, words = asItIs } = options;
  const label = words("option 'listen'");
  const dashboard = await createDashboard({
    source: showOwnRun(recorder, control),
    token: readToken(listen, token),
    allowHost: undefined,
    label,
  });
  const onNotice: OnNotice = (message, { level = 'warn' } = {}) =>
    context.onEvent({ type: 'notice', message, level });
  const page = dashboard.routes;
  const status = await openStatus({ settings, label, page, onNotice });
  status?.health.check(() => (context.signal.aborted ? 'it is stopping' : undefined));
  return (
    status && {
      ...status,
      close: async () => {
        await dashboard.close();
        await status.close();
      },
    }
  );
}

/**
 * Shows a run in Redis, and takes requests to it from there. The run goes on if Redis cannot be
 * used: a run that needs Redis reports that itself.
 */
async function announce(
  url: string,
  recorder: RunRecorder,
  control: RunControl,
): Promise<Closable | undefined> {
  // Loaded here, so that a run without Redis need not wait for it.
  const { announceRun, openQueueServer } = await import('../queue/index.ts');
  try {
    const redis = await openQueueServer({ url, onNotice: () => {} });
    const announced = announceRun(redis.client, {
      id: recorder.read().runId,
      describe: () => toCleanJson(recorder.read()),
      onAsked: (action) => void applyAction(recorder.read(), control, action as RunAction),
    });
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

/**
 * The files of a report: `run.json` is the picture of the run, `run.html` the page with it inside.
 */
class ReportFiles implements Closable {
  readonly #paths: readonly string[];
  readonly #onFailed: (error: unknown) => void;
  #opened: { readonly path: string; readonly file: OutputFile }[] | undefined;

  /** @param onFailed called with the reason why a file is missing */
  constructor(paths: readonly string[], onFailed: (error: unknown) => void) {
    this.#paths = paths;
    this.#onFailed = onFailed;
  }

  /**
   * Opens the files before any call is made, so that a folder that cannot be written costs nothing.
   *
   * @param from the lists that the run reads: a report is never more open than they are
   * @throws BrandfillError `UNWRITABLE_OUTPUT`
   */
  async open(from: readonly FileAccess[]): Promise<void> {
    this.#opened = [];
    for (const path of this.#paths)
      this.#opened.push({ path, file: await openOutputFile(path, from) });
  }

  /**
   * Writes each file and moves it into its place. A file that cannot be written does not keep the
   * others from being written.
   *
   * @returns the files that are in their places
   */
  async write(view: RunView): Promise<string[]> {
    const written: string[] = [];
    const orFailed = (work: () => Promise<void>): Promise<void> => work().catch(this.#onFailed);
    if (!this.#opened) await orFailed(() => this.open([]));
    for (const { path, file } of this.#opened ?? []) {
      await orFailed(async () => {
        await file.write(await textOf(redactDeep(view, withoutSecrets), path));
        await file.finish();
        await file.commit();
        written.push(path);
      });
    }
    return written;
  }

  /** Closes the files. Those that were not written leave their places as they were. */
  async close(): Promise<void> {
    for (const { file } of this.#opened ?? []) await file.discard();
  }
}

async function textOf(view: RunView, path: string): Promise<string> {
  if (extname(path).toLowerCase() === '.json') return `${JSON.stringify(view, null, 2)}\n`;
  const { readAssets, reportPage } = await import('./assets.ts');
  return await reportPage(view, await readAssets());
}
