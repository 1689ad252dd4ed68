import { describe, expect, it } from 'vitest';
import { flagOf } from '../../src/options/options.ts';
import { readToken, type TokenSources } from '../../src/web/access.ts';

const HERE = { host: '127.0.0.1', port: 8080 };
const EVERYWHERE = { host: '0.0.0.0', port: 8080 };
const none: TokenSources = { token: undefined, tokenFile: undefined, env: {}, describe: flagOf };

describe('readToken', () => {
  it('wants none where only this machine can look', () => {
    expect(readToken(none, HERE)).toBeUndefined();
  });

  it('insists on one where others can look', () => {
    expect(() => readToken(none, EVERYWHERE)).toThrow(
      /^Cannot show the dashboard on 0\.0\.0\.0, .* set BRANDFILL_DASHBOARD_TOKEN, or give --token-file/,
    );
  });

  it('takes what was given, else what the environment has', () => {
    const env = { BRANDFILL_DASHBOARD_TOKEN: 'a-token-of-the-environment' };
    expect(readToken({ ...none, env }, EVERYWHERE)).toBe('a-token-of-the-environment');
    const token = 'a-token-that-was-given';
    expect(readToken({ ...none, env, token }, HERE)).toBe(token);
  });

  it.each(['short', 'long enough, but with spaces'])(
    'refuses %j, and does not repeat it',
    (token) => {
      expect(() => readToken({ ...none, token }, HERE)).toThrow(/at least 16 letters/);
      expect(() => readToken({ ...none, token }, HERE)).not.toThrow(token);
    },
  );
});
