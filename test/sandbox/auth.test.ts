import { describe, expect, it } from 'vitest';
import type { SandboxAuth } from '../../src/sandbox/auth.ts';
import { ask, get, openSandbox } from './sandboxes.ts';

const basic = (pair: string) => `Basic ${Buffer.from(pair).toString('base64')}`;

const schemes: [SandboxAuth, right: Record<string, string>, wrong: Record<string, string>][] = [
  [{ scheme: 'bearer', key: 'k1' }, { authorization: 'bearer k1' }, { authorization: 'Bearer k2' }],
  [
    { scheme: 'basic', key: 'me:pw' },
    { authorization: basic('me:pw') },
    { authorization: basic('me:') },
  ],
  [
    { scheme: 'basic', key: 'k1' },
    { authorization: basic('k1:') },
    { authorization: basic('k1:x') },
  ],
  [{ scheme: { header: 'X-Api-Key' }, key: 'k1' }, { 'x-api-key': 'k1' }, { authorization: 'k1' }],
];

describe('sandbox credential', () => {
  it.each(schemes)('%j lets the right one in only', async (auth, right, wrong) => {
    const sandbox = await openSandbox({ auth });
    expect((await ask(sandbox, 'a.com', { headers: right })).status).toBe(200);
    for (const headers of [wrong, {}]) {
      const refused = await ask(sandbox, 'a.com', { headers });
      expect(refused.status).toBe(401);
      expect(JSON.parse(refused.text)).toMatchObject({ error: { code: 'unauthorized' } });
      expect(refused.text).not.toContain(auth.key);
    }
    expect(sandbox.callsOf('a.com').answered).toBe(1);
  });

  it('can travel in the query', async () => {
    const { url } = await openSandbox({ auth: { scheme: { query: 'key' }, key: 'a b&c' } });
    expect((await get(`${url}/v1/brand?domain=a.com&key=a+b%26c`)).status).toBe(200);
    expect((await get(`${url}/v1/brand?domain=a.com`)).status).toBe(401);
  });

  it('challenges where HTTP has a word for it', async () => {
    const sandbox = await openSandbox({ auth: { scheme: 'bearer', key: 'k1' } });
    expect((await ask(sandbox, 'a.com')).headers.get('www-authenticate')).toBe('Bearer');
  });
});
