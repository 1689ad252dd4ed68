import { describe, expect, it } from 'vitest';
import { createSecrets, keepSecret, withoutCredentials } from '../../src/common/secrets.ts';

describe('the secrets of a process', () => {
  it('are left out of all texts, in any form', () => {
    const secrets = createSecrets(10);
    secrets.keep('key one');
    secrets.keep('key-two');
    secrets.keep(undefined);
    secrets.keep('');
    expect(secrets.without('?a=key%20one&b=key-two of key three')).toBe(
      '?a=[redacted]&b=[redacted] of key three',
    );
  });

  it('are the latest ones, as a credential is renewed again and again', () => {
    const secrets = createSecrets(2);
    for (const secret of ['key-1', 'key-2', 'key-1', 'key-3']) secrets.keep(secret);
    expect(secrets.without('key-1, key-2, key-3')).toBe('[redacted], key-2, [redacted]');
    secrets.clear();
    expect(secrets.without('key-1')).toBe('key-1');
  });
});

it('a command inherits no variable that is, names or holds a credential', () => {
  keepSecret('pass/word-1');
  keepSecret('test');
  const kept = {
    PATH: '/usr/bin',
    NODE_ENV: 'test',
    NOTE: 'no pass/word-1',
    CDN: 'https://me@cdn.com',
  };
  const ours = {
    BRANDFILL_API_KEY: 'x',
    BRANDFILL_QUEUE: 'redis://localhost',
    BRANDFILL_DASHBOARD_TOKEN: 'y',
    MY_KEY: ' pass/word-1\n',
    MY_REDIS: 'redis-sentinel://:pass%2Fword-1@a,b/master',
  };
  expect(withoutCredentials({ ...kept, ...ours })).toEqual(kept);
});
