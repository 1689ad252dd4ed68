import { Hono } from 'hono';
import { describe, expect, it } from 'vitest';
import { createAccess } from '../../src/page/access.ts';

const TOKEN = 'correct-horse-battery';

function openPage(token: string | undefined = TOKEN) {
  let nowMs = 0;
  const access = createAccess({ token, now: () => nowMs });
  const app = new Hono();
  app.use('/api/*', access.guard);
  app.all('/api/x', (context) => context.text('in'));
  app.get('/enter', (context) =>
    context.text(String(access.enter(context, context.req.query('code') ?? ''))),
  );
  app.post('/login', async (context) => context.text(await access.login(context)));
  const ask = async (path: string, init: RequestInit = {}) =>
    await app.request(`http://here.test${path}`, init);
  const OURS = { host: 'here.test', origin: 'http://here.test' };
  return {
    access,
    ask,
    login: async (given: string): Promise<{ verdict: string; cookie: string }> => {
      const response = await ask('/login', {
        method: 'POST',
        headers: OURS,
        body: new URLSearchParams({ token: given }).toString(),
      });
      return { verdict: await response.text(), cookie: cookieOf(response) };
    },
    status: async (headers: Record<string, string>, method = 'GET') =>
      (await ask('/api/x', { method, headers })).status,
    OURS,
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

function cookieOf(response: Response): string {
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

describe('access', () => {
  it('changes nothing for another page', async () => {
    const { status, OURS } = openPage();
    const authorization = `Bearer ${TOKEN}`;
    expect(await status({ authorization }, 'POST')).toBe(403);
    expect(await status({ authorization, ...OURS, origin: 'http://evil.test' }, 'POST')).toBe(403);
    expect(await status({ authorization, ...OURS, 'sec-fetch-site': 'cross-site' }, 'POST')).toBe(
      403,
    );
    expect(await status({ authorization, ...OURS }, 'POST')).toBe(200);
  });

  it('takes a code once, in its time; a second use signs the first one out', async () => {
    const { access, ask, status, pass } = openPage();
    const code = access.makeCode(10_000);
    const entered = await ask(`/enter?code=${code}`);
    const cookie = cookieOf(entered);
    expect(await entered.text()).toBe('true');
    expect(await status({ cookie })).toBe(200);
    expect(await (await ask(`/enter?code=${code}`)).text()).toBe('false');
    expect(await status({ cookie })).toBe(401);
    const late = access.makeCode(10_000);
    pass(10_001);
    expect(await (await ask(`/enter?code=${late}`)).text()).toBe('false');
  });

  it('lets in who has the token, whatever others try meanwhile, by a header or a form', async () => {
    const { login, status } = openPage();
    expect(await status({})).toBe(401);
    expect(await status({ cookie: 'brandfill_session=x' })).toBe(401);
    for (let at = 0; at < 300; at += 1) {
      expect(await login(`guess ${at}`)).toEqual({ verdict: 'wrong', cookie: '' });
      expect(await status({ authorization: `Bearer guess-${at}` })).toBe(401);
    }
    const { verdict, cookie } = await login(TOKEN);
    expect(verdict).toBe('granted');
    expect(await status({ cookie })).toBe(200);
    expect(await status({ authorization: `Bearer ${TOKEN}` })).toBe(200);
  });
});
