import { describe, expect, it } from 'vitest';
import { parseSize } from '../../../src/job/values/setting-values.ts';

describe('parseSize', () => {
  it.each([
    ['1GB', 1_000_000_000],
    ['64MB', 64_000_000],
    ['1.5 kb', 1_500],
    ['2MiB', 2_097_152],
    ['500000', 500_000],
    ['7B', 7],
  ])('reads %j', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', '0', '0.4', '-1', 'MB', '1TB', '1e9', '64 MB per file'])('refuses %j', (text) => {
    expect(() => parseSize(text)).toThrow(
      `expected a size such as 64MB, 1GB or a number of bytes, received '${text}'`,
    );
  });
});
