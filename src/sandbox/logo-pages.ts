import { draw, hashText, purposes } from './random.ts';
import type { Message } from './send.ts';

/** The picture at a path, or `undefined` when there is none. */
export type LogoPages = (path: string) => Picture | undefined;

type Picture = Omit<Message, 'body'> & { body: string };

/**
 * Create the pictures of the sandbox. They are SVG, whatever the ending of their name, as happens
 * in practice.
 */
export function createLogoPages(seed: number): LogoPages {
  return (path) => {
    const [, domain, theme] = /^\/logos\/([a-z0-9.-]+)\/(light|dark)\.png$/.exec(path) ?? [];
    if (domain === undefined || theme === undefined) return undefined;
    const hash = hashText(domain, seed);
    const share = draw(hash, purposes.logo);
    if (share < 0.05) return MISSING;
    const color = `hsl(${Math.floor(draw(hash, purposes.logo, 1) * 360)} 60% 40%)`;
    return {
      status: 200,
      headers: { 'Content-Type': 'image/svg+xml' },
      body: drawLogo(domain.charAt(0).toUpperCase(), {
        paper: theme === 'light' ? 'white' : color,
        ink: theme === 'light' ? color : 'white',
        more:
          share < 0.1
            ? '<script>document.title = "This picture does more than show."</script>'
            : '',
      }),
    };
  };
}

const MISSING: Picture = {
  status: 404,
  headers: { 'Content-Type': 'text/html' },
  body: '<!doctype html><title>Not found</title><p>There is no such picture.</p>',
};

interface Look {
  paper: string;
  ink: string;
  /** The rest of its content. */
  more: string;
}

function drawLogo(letter: string, { paper, ink, more }: Look): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" width="512" height="128" viewBox="0 0 512 128">${more}<rect width="512" height="128" rx="24" fill="${paper}"/><text x="256" y="92" font-family="sans-serif" font-size="80" text-anchor="middle" fill="${ink}">${letter}</text></svg>\n`;
}
