import type { Command } from 'commander';
import { BrandfillError, endSentence } from '../common/errors.ts';
import { countOf } from '../common/format.ts';
import { printableLines } from '../common/text.ts';

/** Adds `brandfill api` and its subcommands. */
export function addApiCommand(program: Command): void {
  const api = program
    .command('api')
    .description('profiles of APIs, for --api: how an API is asked and what its answers mean');
  api
    .command('list')
    .description('list the profiles that come with Brandfill')
    .option('--json', 'print JSON')
    .action(listProfiles);
  api
    .command('show')
    .description('print a profile, to read it or to make your own of it')
    .argument('<name>', 'name of a profile, or its file')
    .action(showProfile);
  api
    .command('check')
    .description(
      'check a profile: its keys and expressions, rules that can never fit, what its samples mean',
    )
    .argument('<file>', 'file of a profile, or its name')
    .action(checkProfile);
}

async function listProfiles({ json = false }: { readonly json?: boolean }): Promise<void> {
  const { readProfile, shippedProfiles } = await import('../profile/read-profile.ts');
  const listed = shippedProfiles().map((name) => {
    const { title, content } = readProfile(name);
    const { asOf, triedLive = false, request, sources = [] } = content;
    return { name, title, baseUrl: request.baseUrl, asOf, triedLive, sources };
  });
  if (json) return print([JSON.stringify(listed)]);
  const width = Math.max(0, ...listed.map(({ name }) => name.length));
  print(
    listed.map(({ name, title, asOf, triedLive }) => {
      const tried = triedLive ? 'tried' : 'not tried';
      return `${name.padEnd(width)}  ${title}; as documented on ${asOf}, ${tried} against the live service`;
    }),
  );
}

async function showProfile(name: string): Promise<void> {
  const { readProfileText } = await import('../profile/read-profile.ts');
  print([named(name, () => readProfileText(name)).trimEnd()]);
}

async function checkProfile(file: string): Promise<void> {
  const { readProfile } = await import('../profile/read-profile.ts');
  const { findDeadRules } = await import('../profile/rules.ts');
  const { judgeSample } = await import('../profile/samples.ts');
  const { content, api } = named(file, () => readProfile(file, findDeadRules));
  const { rules = [], samples = [] } = content;
  const seen = new Set(samples.map((sample) => judgeSample(sample, api).rule));
  const unseen = rules.flatMap((_, at) => (seen.has(at + 1) ? [] : [at + 1]));
  print([
    `${file} is right: ${countOf(rules.length, 'rule')}, ${countOf(samples.length, 'sample')} that mean what they should.`,
    ...(unseen.length === 0 ? [] : [`No sample shows rule ${unseen.join(', ')} at work.`]),
  ]);
}

/** Names the profile in front of what is wrong with it. */
function named<T>(file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof BrandfillError)) throw error;
    const message = error.message.startsWith(file) ? error.message : `${file}: ${error.message}`;
    throw new BrandfillError('INVALID_SETTING', endSentence(`Cannot use ${message}`), {
      cause: error,
    });
  }
}

function print(lines: readonly string[]): void {
  process.stdout.write(`${lines.map(printableLines).join('\n')}\n`);
}
