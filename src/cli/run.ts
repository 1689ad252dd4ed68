import type { Command } from 'commander';
import { flagOf } from '../options/options.ts';
import type { CliContext } from './context.ts';
import { addRunFlags, refuseRowsBesideJson, splitRunFlags, watchRun } from './run-flags.ts';

/** Adds `brandfill run <file>`. */
export function addRunCommand(program: Command, context: CliContext): void {
  const command = program
    .command('run')
    .description('enrich a list as described in a job file; options override the file')
    .argument('<file>', 'job file, such as jobs/nightly-crm.yaml')
    .option('--input <FILE>', 'use this list instead of the one in the job file');
  addRunFlags(command).action(async (file: string, typed: Record<string, unknown>) => {
    context.finish(await runFile(file, typed, context));
  });
}

async function runFile(
  file: string,
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { flags, options: overrides } = splitRunFlags(typed);
  const { loadJob } = await import('../load-job.ts');
  const { plan } = await import('../enrich.ts');
  const { runJob } = await import('../run-job.ts');
  const loading = { overrides, naming: flagOf };
  return await watchRun(
    {
      plan: async (watch) => {
        const { options, naming } = await loadJob(file, loading);
        return await plan({ ...options, ...watch }, naming);
      },
      run: (watch, onSummary) =>
        runJob(file, {
          ...loading,
          ...watch,
          onSummary,
          onLoaded: ({ options }) => refuseRowsBesideJson(options, flags),
        }),
    },
    flags,
    context,
  );
}
