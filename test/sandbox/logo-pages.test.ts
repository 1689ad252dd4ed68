import { describe, expect, it } from 'vitest';
import { createLogoPages } from '../../src/sandbox/server.ts';
import { ask, createDomains, get, openSandbox } from './sandboxes.ts';

describe('logos', () => {
  it('are where answers say, as the caller sees the sandbox', async () => {
    const { url } = await openSandbox({ logos: true });
    const answer = await get(`${url.replace('127.0.0.1', 'localhost')}/v1/brand?domain=acme.com`);
    const { logos } = JSON.parse(answer.text) as { logos: { url: string }[] };
    const [logo] = logos;
    expect(logo?.url).toMatch(/^http:\/\/localhost:\d+\/logos\/acme\.com\/light\.png$/);
    const picture = await get(logo?.url ?? '');
    expect(picture.status).toBe(200);
    expect(picture.headers.get('content-type')).toBe('image/png');
    expect((await get(logo?.url ?? '')).text).toBe(picture.text);
  });

  it('are nowhere unless asked for', async () => {
    const sandbox = await openSandbox();
    expect((await ask(sandbox, 'acme.com')).text).toContain('https://cdn.example/logos/acme.com/');
    expect((await get(`${sandbox.url}/logos/acme.com/light.png`)).status).toBe(404);
  });

  it('are missing for one in twenty, and SVG for another one', () => {
    const logos = createLogoPages(1);
    const pages = createDomains(2_000).map((domain) => logos(`/logos/${domain}/dark.png`));
    const missing = pages.filter((page) => page?.status === 404).length;
    const drawn = pages.filter((page) => String(page?.body).includes('<svg')).length;
    for (const count of [missing, drawn]) {
      expect(count).toBeGreaterThan(60);
      expect(count).toBeLessThan(140);
    }
    expect(logos('/logos/acme.com/blue.png')).toBeUndefined();
    expect(logos('/logos/<script>/dark.png')).toBeUndefined();
  });
});
