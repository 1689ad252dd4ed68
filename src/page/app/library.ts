import type { Plan } from '../../collector/first-reading.ts';
import type { Job } from '../../profile/job.ts';
import type { CallerOptions } from '../../run/run-context.ts';
import type { Tried } from '../../run/trial.ts';
import type { RunView } from '../../watch/run-view.ts';
import type { RunSurroundings } from '../show-run.ts';

/**
 * What the app uses of the library, which shows its runs on this page and so lies above it: whoever
 * opens the app passes it.
 */
export interface Library {
  planJob(input: string, job: Job, caller: CallerOptions): Promise<Plan>;
  sampleJob(
    input: string,
    job: Job,
    caller: CallerOptions,
  ): Promise<{ readonly tried: readonly Tried[]; readonly view: RunView }>;
  enrichJob(
    input: string,
    job: Job,
    caller: CallerOptions,
    around: RunSurroundings,
  ): Promise<RunView>;
}
