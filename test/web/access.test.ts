import { describe, expect, it } from 'vitest';
import { flagOf } from '../../src/options/options.ts';
import {
  type Access,
  type AccessRequest,
  createAccess,
  readToken,
  type TokenSources,
} from '../../src/web/access.ts';
import { createFakeClock } from '../support/fake-clock.ts';

const TOKEN = 'correct-horse-battery';
const STAYS = new AbortController().signal;

function asker(from: string): Pick<AccessRequest, 'from' | 'gone'> {
  return { from, gone: STAYS };
}

async function ask(access: Access, given: Partial<AccessRequest> = {}): Promise<boolean> {
  return await access.isGranted({ ...asker('a'), ...given });
}

describe('access', () => {
  it('is open to all without a token', async () => {
    expect(await ask(createAccess({ token: undefined }))).toBe(true);
  });

  it('is for those who bring the token or the cookie', async () => {
    const access = createAccess({ token: TOKEN, clock: createFakeClock({ isImpatient: true }) });
    const { name, value } = access.cookie;
    expect(await ask(access)).toBe(false);
    expect(await ask(access, { authorization: `Bearer ${TOKEN}` })).toBe(true);
    expect(await ask(access, { authorization: 'Bearer wrong' })).toBe(false);
    expect(await ask(access, { cookie: `other=1; ${name}=${value}` })).toBe(true);
    expect(await ask(access, { cookie: `${name}=${TOKEN}` })).toBe(false);
    expect(await ask(access, { cookie: `${name}=` })).toBe(false);
  });

  it('gives a cookie that neither holds the token nor outlives the process', () => {
    const [one, other] = [createAccess({ token: TOKEN }), createAccess({ token: TOKEN })];
    expect(one.cookie.value).not.toContain(TOKEN);
    expect(one.cookie.value).not.toBe(other.cookie.value);
  });

  it('answers each further wrong token of an address later, in headers too, and the right one at once', async () => {
    const clock = createFakeClock();
    const access = createAccess({ token: TOKEN, clock });
    const wrong = Array.from({ length: 50 }, (_, at) =>
      at % 2 === 0
        ? access.tryToken(`guess-${at}`, asker('a'))
        : ask(access, { authorization: `Bearer guess-${at}` }),
    );
    const first = [100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000];
    expect(clock.sleepsMs.slice(0, first.length)).toEqual(first);
    expect(new Set(clock.sleepsMs.slice(first.length))).toEqual(new Set([5_000]));
    // All of these while fifty wrong ones wait.
    expect(await access.tryToken(TOKEN, asker('a'))).toBe('granted');
    expect(await ask(access, { authorization: `Bearer ${TOKEN}` })).toBe(true);
    expect(await access.tryToken(TOKEN, asker('b'))).toBe('granted');
    await clock.advance(5_000);
    expect(new Set(await Promise.all(wrong))).toEqual(new Set(['wrong', false]));
  });

  it('does not make one address wait for another, nor for what it did more than a minute ago', async () => {
    const clock = createFakeClock({ isImpatient: true });
    const access = createAccess({ token: TOKEN, clock });
    await access.tryToken('guess', asker('a'));
    await access.tryToken('guess', asker('a'));
    await access.tryToken('guess', asker('b'));
    await clock.advance(60_001);
    await access.tryToken('guess', asker('a'));
    expect(clock.sleepsMs).toEqual([100, 200, 100, 100]);
  });

  it('keeps a thousand wrong tokens waiting at most, and none whose asker has gone', async () => {
    const clock = createFakeClock();
    const access = createAccess({ token: TOKEN, clock });
    const leaving = new AbortController();
    const guess = (gone: AbortSignal): Promise<string> =>
      access.tryToken('guess', { from: 'a', gone });
    const wrong = Array.from({ length: 1_000 }, () => guess(leaving.signal));
    expect(await guess(STAYS)).toBe('too_often');
    expect(await access.tryToken(TOKEN, asker('a'))).toBe('granted');
    leaving.abort();
    expect(new Set(await Promise.all(wrong))).toEqual(new Set(['wrong']));
    const next = guess(STAYS);
    await clock.advance(5_000);
    expect(await next).toBe('wrong');
  });
});

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
