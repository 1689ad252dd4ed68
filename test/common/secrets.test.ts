import { describe, expect, it } from 'vitest';
import { createSecrets } from '../../src/common/secrets.ts';

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
