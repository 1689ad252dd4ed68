import { enrichJob, planJob } from '../../api/enrich.ts';
import { inFlags, OPTIONS } from '../../options/options.ts';
import { toJob } from '../../profile/job.ts';
import { defineCommand } from './command.ts';
import { refuseRowsBesideJson, START_OPTIONS, watchRun } from './watch-run.ts';

/** `brandfill enrich` */
export const enrichCommand = defineCommand({ ...OPTIONS, ...START_OPTIONS }, async (call) => {
  const [input = ''] = call.words;
  const job = toJob(call);
  refuseRowsBesideJson(input, job.settings.out, call.settings);
  return await watchRun(call, async (watch) => {
    if (call.settings.dryRun) return await planJob(input, job, watch);
    const { onRecorder, onSummary } = watch;
    const summary = await enrichJob(input, job, watch, {
      onRecorder,
      words: inFlags,
      command: call.line,
    });
    onSummary(summary);
    return summary;
  });
});
