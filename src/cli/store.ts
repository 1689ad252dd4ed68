import type { Command } from 'commander';
import { EXIT } from '../common/errors.ts';
import { countOf, formatCount, formatSize } from '../common/format.ts';
import { printable } from '../common/text.ts';
import type { ExportOptions, Pruned, StoreStats } from '../index.ts';
import {
  DELETE_OPTIONS,
  EXPORT_OPTIONS,
  GET_OPTIONS,
  IMPORT_OPTIONS,
  PRUNE_OPTIONS,
  STORE_OPTIONS,
} from '../options/command-options.ts';
import { flagOf, toOptions } from '../options/options.ts';
import { addSettings, type CliContext, onInterrupt } from './command.ts';

/** Adds `brandfill store` and its subcommands. */
export function addStoreCommand(program: Command, { finish, endAtOnce }: CliContext): void {
  const store = program
    .command('store')
    .description('inspect and maintain the stored answers, even while runs use them');

  const stats = store
    .command('stats')
    .description('show what the store holds: outcomes, APIs, ages, size');
  addSettings(stats, STORE_OPTIONS);
  stats
    .option('--json', 'print JSON')
    .action(async (typed: Typed) => finish(await showStats(typed)));

  const get = store
    .command('get')
    .description('print the latest outcome of a domain as JSON; one line for each API that has one')
    .argument('<domain>', 'a domain, or anything that a cell of a list may hold');
  addSettings(get, GET_OPTIONS);
  get
    .addHelpText('after', '\nExit codes:\n  0    there is an outcome\n  3    there is none')
    .action(async (domain: string, typed: Typed) => finish(await getOutcome(domain, typed)));

  const exporting = store.command('export').description('write all outcomes as JSON, one per line');
  addSettings(exporting, EXPORT_OPTIONS);
  exporting.action(async (typed: Typed) => {
    const interrupt = onInterrupt(endAtOnce);
    // Nothing is lost by ending at once. The partial file is removed when the process exits, which a
    // signal by itself would skip.
    interrupt.signal.addEventListener('abort', () => endAtOnce(EXIT.interrupted));
    try {
      finish(await exportOutcomes(typed));
    } finally {
      interrupt.dispose();
    }
  });

  const importing = store
    .command('import')
    .description(
      'import exported outcomes; those in the store stay unless the imported one is newer',
    )
    .argument('<file>', 'file that store export has written; - is standard input');
  addSettings(importing, IMPORT_OPTIONS);
  importing
    .addHelpText('after', '\nExit codes:\n  0    done\n  3    done, but some lines held no outcome')
    .action(async (file: string, typed: Typed) => finish(await importOutcomes(file, typed)));

  const prune = store
    .command('prune')
    .description('remove old outcomes; their space is reused, but the file does not shrink');
  addSettings(prune, PRUNE_OPTIONS);
  prune.action(async (typed: Typed) => finish(await pruneOutcomes(typed)));

  const deleting = store
    .command('delete')
    .description('remove all that is stored of domains: outcomes, and notes about them')
    .argument('<domain...>', 'domains, or anything that a cell of a list may hold');
  addSettings(deleting, DELETE_OPTIONS);
  deleting
    .addHelpText('after', '\nExit codes:\n  0    done\n  3    done, but of some there was nothing')
    .action(async (domains: string[], typed: Typed) =>
      finish(await deleteOutcomes(domains, typed)),
    );
}

type Typed = Readonly<Record<string, unknown>>;

async function showStats({ json = false, ...typed }: Typed): Promise<number> {
  const { readStoreStats } = await import('../commands/store.ts');
  const stats = await readStoreStats(toOptions(typed), flagOf);
  const text = json ? JSON.stringify(stats) : describeStore(stats).join('\n');
  process.stdout.write(`${text}\n`);
  return EXIT.ok;
}

async function getOutcome(domain: string, typed: Typed): Promise<number> {
  const { findStored } = await import('../commands/store.ts');
  const lines = await findStored({ ...toOptions(typed), domain }, flagOf);
  for (const line of lines) process.stdout.write(`${printable(line)}\n`);
  if (lines.length > 0) return EXIT.ok;
  say(`There is no outcome of ${domain} in the store.`);
  return EXIT.someFailed;
}

async function exportOutcomes({ out, ...typed }: Typed): Promise<number> {
  const { exportStore, openExportOutput } = await import('../commands/store.ts');
  const output = await openExportOutput(out as string | undefined);
  try {
    const options = toOptions(typed) as ExportOptions;
    const write = (lines: readonly string[]) => output.write(`${lines.join('\n')}\n`);
    const outcomes = await exportStore(options, write, flagOf);
    await output.finish();
    await output.commit();
    say(
      output.isCut()
        ? `Not all of ${countOf(outcomes, 'outcome')} exported: whoever read standard output closed it before the end.`
        : `${countOf(outcomes, 'outcome')} exported.`,
    );
    return EXIT.ok;
  } finally {
    await output.discard();
  }
}

async function importOutcomes(input: string, typed: Typed): Promise<number> {
  const { importStore } = await import('../commands/store-import.ts');
  const summary = await importStore({ ...toOptions(typed), input }, flagOf);
  const { imported, kept, refused, firstRefused } = summary;
  for (const { line, reason } of firstRefused) say(`Line ${line} was left out: ${reason}.`);
  const unshown = refused - firstRefused.length;
  if (unshown > 0) say(`${countOf(unshown, 'more line')} left out.`);
  say(
    `${countOf(imported, 'outcome')} imported, ${formatCount(kept)} were already there and at least as new.`,
  );
  return refused > 0 ? EXIT.someFailed : EXIT.ok;
}

async function pruneOutcomes(typed: Typed): Promise<number> {
  const { pruneStore } = await import('../commands/store.ts');
  const options = toOptions(typed) as { olderThan: string; dryRun?: boolean };
  sayRemoved(await pruneStore(options, flagOf), options);
  return EXIT.ok;
}

async function deleteOutcomes(domains: readonly string[], typed: Typed): Promise<number> {
  const { deleteStored } = await import('../commands/store.ts');
  const options = toOptions(typed) as { dryRun?: boolean };
  const deleted = await deleteStored({ ...options, domains }, flagOf);
  for (const domain of deleted.unknown) say(`There is nothing of ${domain} in the store.`);
  sayRemoved(deleted, options);
  return deleted.unknown.length > 0 ? EXIT.someFailed : EXIT.ok;
}

function sayRemoved(
  { answers, failures, leftOver, logos }: Pruned,
  { dryRun = false }: { readonly dryRun?: boolean },
): void {
  const what = [`${countOf(answers, 'answer')}, ${countOf(failures, 'failure')}`];
  if (leftOver > 0) what.push(`${countOf(leftOver, 'note')} of domains left over`);
  if (logos > 0) what.push(`${countOf(logos, 'note')} of logos, whose files stay`);
  const all = what.join(', ');
  say(
    dryRun
      ? `To be removed: ${all}.`
      : `Removed: ${all}. Their space is reused for new outcomes; the file does not shrink.`,
  );
}

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Describes the contents of a store for people, in lines. */
function describeStore(stats: StoreStats): readonly string[] {
  const { folder, version, sizeBytes, statuses, apis, ages, leftOver, logos } = stats;
  const { oldestAtMs, newestAtMs } = stats;
  const total = sumOf(statuses);
  const lines = [
    `Store ${folder}, version ${version}: ${formatSize(sizeBytes)} on the disk`,
    `${countOf(total, 'domain')}${describeStatuses(statuses)}`,
  ];
  for (const { api, name, statuses: ofApi } of apis) {
    lines.push(
      `  ${name ?? 'API'} (${api})  ${countOf(sumOf(ofApi), 'domain')}${describeStatuses(ofApi)}`,
    );
  }
  if (total > 0) lines.push('Asked about');
  let fromDays = 0;
  for (const { underDays, outcomes } of ages) {
    const when =
      underDays === undefined
        ? `${fromDays} days ago and before`
        : fromDays === 0
          ? 'less than a day ago'
          : `${fromDays} to ${underDays} days ago`;
    if (outcomes > 0) lines.push(`  ${when.padEnd(24)}${formatCount(outcomes)}`);
    fromDays = underDays ?? fromDays;
  }
  if (oldestAtMs !== undefined && newestAtMs !== undefined) {
    lines.push(`  the oldest at ${time(oldestAtMs)}, the newest at ${time(newestAtMs)}`);
  }
  if (leftOver > 0) lines.push(`${countOf(leftOver, 'domain')} left over, first in line next time`);
  if (logos > 0) lines.push(`${countOf(logos, 'logo')} saved`);
  return lines;
}

function describeStatuses(statuses: StoreStats['statuses']): string {
  const parts = Object.entries(statuses)
    .filter(([, outcomes]) => outcomes > 0)
    .map(([status, outcomes]) => `${formatCount(outcomes)} ${status.replace('_', ' ')}`);
  return parts.length > 0 ? `: ${parts.join(', ')}` : '';
}

function sumOf(statuses: StoreStats['statuses']): number {
  return Object.values(statuses).reduce((sum, outcomes) => sum + outcomes, 0);
}

function time(ms: number): string {
  return new Date(ms).toISOString();
}
