import { describe, expect, it } from 'vitest';
import { createAccess } from '../../src/dashboard/access.ts';

const TOKEN = 'correct-horse-battery';

describe('access', () => {
  it('is open to all without a token', () => {
    expect(createAccess({ token: undefined }).isGranted({})).toBe(true);
  });

  it('is for those who bring the token or the cookie', () => {
    const access = createAccess({ token: TOKEN });
    const { name, value } = access.cookie;
    expect(access.isGranted({})).toBe(false);
    expect(access.isGranted({ authorization: `Bearer ${TOKEN}` })).toBe(true);
    expect(access.isGranted({ authorization: 'Bearer wrong' })).toBe(false);
    expect(access.isGranted({ cookie: `other=1; ${name}=${value}` })).toBe(true);
    expect(access.isGranted({ cookie: `${name}=${TOKEN}` })).toBe(false);
    expect(access.isGranted({ cookie: `${name}=` })).toBe(false);
  });

  it('gives a cookie that neither holds the token nor outlives the process', () => {
    const [one, other] = [createAccess({ token: TOKEN }), createAccess({ token: TOKEN })];
    expect(one.cookie.value).not.toContain(TOKEN);
    expect(one.cookie.value).not.toBe(other.cookie.value);
  });

  it('refuses to look at more than ten wrong tokens a minute from one address', () => {
    let nowMs = 0;
    const access = createAccess({ token: TOKEN, now: () => nowMs });
    for (let at = 0; at < 10; at += 1) expect(access.tryToken('guess', 'a')).toBe('wrong');
    expect(access.tryToken(TOKEN, 'a')).toBe('too_often');
    expect(access.tryToken(TOKEN, 'b')).toBe('granted');
    nowMs = 60_001;
    expect(access.tryToken(TOKEN, 'a')).toBe('granted');
  });

  it('counts those in headers too, and lets in who has the cookie', () => {
    const access = createAccess({ token: TOKEN, now: () => 0 });
    const ask = (token: string): boolean =>
      access.isGranted({ authorization: `Bearer ${token}`, from: 'a' });
    for (let at = 0; at < 10; at += 1) expect(ask(`guess-${at}`)).toBe(false);
    expect(ask(TOKEN)).toBe(false);
    expect(access.tryToken(TOKEN, 'a')).toBe('too_often');
    const { name, value } = access.cookie;
    expect(access.isGranted({ cookie: `${name}=${value}`, from: 'a' })).toBe(true);
  });
});
