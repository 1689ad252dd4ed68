import type { Command } from 'commander';
import type { EnrichOptions } from '../enrich-options.ts';
import type { CliContext } from './context.ts';
import { addRunFlags, refuseRowsBesideJson, splitRunFlags, watchRun } from './run-flags.ts';
import { flagOrArgument } from './setting-options.ts';

/** Adds `brandfill enrich <input>`. */
export function addEnrichCommand(program: Command, context: CliContext): void {
  const command = program
    .command('enrich')
    .description('look up every domain in a list, and write its rows back with the data found')
    .argument(
      '<input>',
      'XLSX, CSV, TSV or JSONL file (text formats also as .gz); - is standard input',
    );
  addRunFlags(command).action(async (input: string, typed: Record<string, unknown>) => {
    context.finish(await enrichFile(input, typed, context));
  });
}

async function enrichFile(
  input: string,
  typed: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  const { flags, options } = splitRunFlags(typed);
  refuseRowsBesideJson({ ...options, input }, flags);
  // Loaded here, so that --help need not wait for it.
  const { enrich, plan } = await import('../enrich.ts');
  const withInput: EnrichOptions = { ...options, input };
  return await watchRun(
    {
      plan: (watch) => plan({ ...withInput, ...watch }, flagOrArgument),
      run: async (watch, onSummary) =>
        onSummary(await enrich({ ...withInput, ...watch }, flagOrArgument)),
    },
    flags,
    context,
  );
}
