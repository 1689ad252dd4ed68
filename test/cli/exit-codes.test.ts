import { expect, it } from 'vitest';
import { describeError, exitCodeOfError } from '../../src/common/exit-codes.ts';

it('takes a process that may open no further file for a matter of its surroundings', () => {
  const error = Object.assign(new Error("EMFILE: too many open files, open '/x.js'"), {
    code: 'EMFILE',
  });
  expect(exitCodeOfError(error)).toBe(2);
  expect(describeError(error)).toMatch(/too many files are open\. .*ulimit -n/);
});
