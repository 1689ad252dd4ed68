import { expect, it } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { createProgram } from '../../src/cli/program.ts';
import { describeError, exitCodeOfError } from '../../src/common/errors.ts';
import { readVersion } from '../../src/version.ts';
import { endingOf } from '../../src/watch/describe.ts';
import { createStatusCounts } from '../../src/watch/run-view.ts';

/** The help, or what is said of a mistake, as it stands on a terminal of 100 columns. */
async function shownOf(...args: readonly string[]): Promise<string> {
  let shown = '';
  const program = createProgram({ finish: () => {}, endAtOnce: () => {}, reportTo: () => {} });
  const output = {
    writeOut: (text: string) => {
      shown += text;
    },
    writeErr: (text: string) => {
      shown += text;
    },
    getOutHelpWidth: () => 100,
    getOutHasColors: () => false,
  };
  const below = program.commands.flatMap((command) => [command, ...command.commands]);
  for (const command of [program, ...below]) command.configureOutput(output);
  await expect(program.parseAsync(args, { from: 'user' })).rejects.toThrow();
  return shown;
}

it.each([[], ['enrich'], ['store']])('the help of %j', async (...args) => {
  const shown = await shownOf(...args, '--help');
  expect(shown).toMatchSnapshot();
  expect(await shownOf('help', ...args)).toBe(shown);
});

it('a flag that only the long help has is suggested too', async () => {
  expect(await shownOf('enrich', 'a.csv', '--concurency')).toContain('Did you mean --concurrency?');
});

it.each([
  [['help', 'enrch'], "unknown command 'enrch'\n(Did you mean enrich?)\n(see brandfill --help)"],
  [['help', 'store', 'gett'], "unknown command 'gett'\n(Did you mean get?)"],
  [['help', 'nothing-like-it'], "unknown command 'nothing-like-it'\n(see brandfill --help)"],
])('%j is a mistake', async (words, said) => {
  expect(await shownOf(...words)).toMatch(/^error: |^brandfill: /);
  expect(await shownOf(...words)).toContain(said);
});

it.each(['-v', '-V', '--version'])('%s says the version', async (flag) => {
  expect(await shownOf(flag)).toBe(`${readVersion()}\n`);
});

it.each(COMMANDS.map(({ name, examples }) => [name, examples] as const))(
  'the help of %s has two examples that work',
  async (name, examples) => {
    const help = await shownOf(...name.split(' '), '--help');
    const flags: readonly string[] =
      (await shownOf(...name.split(' '), '--help', 'all')).match(
        /(?<=^ {2}(?:-\w, )?)--[a-z-]+/gm,
      ) ?? [];
    for (const example of examples) {
      expect(help).toContain(`\n  brandfill ${example}\n`);
      expect(`${example} `.startsWith(`${name} `)).toBe(true);
      expect((example.match(/--[a-z-]+/g) ?? []).filter((flag) => !flags.includes(flag))).toEqual(
        [],
      );
    }
  },
);

const statuses = createStatusCounts();
it.each([
  ['calls that found nothing', 5, { not_found: 3, invalid: 1 }, 3],
  ['calls that were all refused', 5, { rejected: 3 }, 3],
  ['calls that found one', 5, { not_found: 3, found: 1 }, 0],
  ['no call, all known to be unknown', 0, { not_found: 3 }, 0],
  ['no row with a domain', 0, { invalid: 3 }, 3],
  ['no row at all', 0, {}, 0],
])('the exit code of %s is as told', (_, calls, some, code) => {
  const ended = endingOf({ stopped: undefined, calls, statuses: { ...statuses, ...some } });
  expect(ended.exitCode).toBe(code);
});

it('takes a process that may open no further file for a matter of its surroundings', () => {
  const error = Object.assign(new Error("EMFILE: too many open files, open '/x.js'"), {
    code: 'EMFILE',
  });
  expect(exitCodeOfError(error)).toBe(2);
  expect(describeError(error)).toMatch(/too many files are open\. .*ulimit -n/);
});

it('run has every flag of enrich, and --input', async () => {
  const flagsOf = async (name: string): Promise<readonly string[]> =>
    (await shownOf(name, '--help', 'all')).match(/^ {2}--[a-z-]+/gm) ?? [];
  const ofRun = await flagsOf('run');
  expect(ofRun.length).toBeGreaterThan(20);
  expect(ofRun.toSorted()).toEqual(['  --input', ...(await flagsOf('enrich'))].toSorted());
});
