import { describeError } from '../common/errors.ts';
import { withoutSecrets } from '../common/secrets.ts';
import type { Job } from '../options/api.ts';
import { createRunReport, type ReportedRun } from '../report/report.ts';
import { openReportFiles, type ReportFiles } from '../report/report-files.ts';
import { createRunRecorder } from '../report/run-recorder.ts';
import type { ListInput } from '../rows/list-input.ts';
import { readVersion } from '../version.ts';
import type { Summary } from '../watch/summary.ts';
import type { RunContext } from './run-context.ts';

export interface ReportableRun {
  readonly run: (input: ListInput, job: Job, context: RunContext) => Promise<Summary>;
  readonly context: RunContext;
}

/**
 * Makes a run and, if wanted, its report, however the run ended. A run that stops early has a
 * report, and so has one that fails after its first call. A run that never began has none.
 */
export async function runWithReport(
  input: ListInput,
  job: Job,
  { run, context }: ReportableRun,
): Promise<Summary> {
  const { report: paths } = job.settings;
  if (paths === undefined) return await run(input, job, context);
  const startedAt = new Date();
  const { recording, ...recorder } = createRunRecorder();
  let files: ReportFiles | undefined;

  async function write(end: Pick<ReportedRun, 'summary' | 'error'>): Promise<readonly string[]> {
    try {
      const report = createRunReport({
        recording,
        runId: context.runId,
        settings: job.settings,
        input: typeof input === 'string' ? input : 'rows',
        startedAt,
        finishedAt: new Date(),
        version: readVersion(),
        redact: withoutSecrets,
        ...end,
      });
      files ??= await openReportFiles(paths ?? [], undefined);
      return await files.write(report, reportFailure);
    } catch (error) {
      reportFailure(error);
      return [];
    }
  }

  /** Only a notice, because the rows are in their places, or there is a more important error. */
  function reportFailure(error: unknown): void {
    const message = `There is no report: ${describeError(error)}`;
    context.onEvent({ type: 'notice', message });
  }

  try {
    const summary = await run(input, job, {
      ...context,
      onEvent: (event) => {
        recorder.onEvent(event);
        context.onEvent(event);
      },
      report: {
        recorder,
        openFiles: async (others) => {
          files = await openReportFiles(paths, others);
        },
      },
    });
    const reports = await write({ summary });
    return reports.length > 0 ? { ...summary, reports } : summary;
  } catch (error) {
    if (recording.hasBegun)
      await write({ error: { thrown: error, message: describeError(error) } });
    throw error;
  } finally {
    await files?.close();
  }
}
