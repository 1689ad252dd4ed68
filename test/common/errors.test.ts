import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { describeSystemError, systemErrorCode } from '../../src/common/errors.ts';

describe('an error of Node.js', () => {
  it('is known also where it is of another context, as in tests with Jest', () => {
    const error: unknown = runInNewContext(
      "Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' })",
    );
    expect(error).not.toBeInstanceOf(Error);
    expect(systemErrorCode(error)).toBe('ENOENT');
    expect(describeSystemError(error)).toBe('there is no such file or folder');
    expect(describeSystemError(runInNewContext("new Error('gone')"))).toBe('gone');
  });
});
