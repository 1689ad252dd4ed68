import { expect, it } from 'vitest';
import { createProgram } from '../../src/cli/program.ts';

it('run has every flag of enrich, and --input', () => {
  const { commands } = createProgram({ finish: () => {}, endAtOnce: () => {}, reportTo: () => {} });
  const flagsOf = (name: string): readonly (string | undefined)[] =>
    commands
      .find((command) => command.name() === name)
      ?.options.map(({ flags, description }) => `${flags} ${description}`) ?? [];
  expect(flagsOf('enrich').length).toBeGreaterThan(20);
  expect(flagsOf('run')).toEqual([expect.stringMatching(/^--input <FILE>/), ...flagsOf('enrich')]);
});
