import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { html, raw } from 'hono/html';
import { toCleanJson } from '../common/secrets.ts';
import type { RunView } from '../watch/run-view.ts';

type Html = ReturnType<typeof html>;

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The files of the page by their paths, as the build made them; none when it was not built. */
export async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const assets = new Map<string, Asset>();
  // Beside the bundle, or in `dist` when run from the sources.
  for (const place of ['client/', '../../dist/client/']) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    const names: readonly string[] = await readdir(folder).catch(() => []);
    if (!names.includes('main.js')) continue;
    for (const name of names) {
      const type = TYPES[extname(name)];
      if (type) assets.set(`/${name}`, { type, body: await readFile(`${folder}${name}`, 'utf8') });
    }
    return assets;
  }
  return assets;
}

/**
 * In parts: bundlers write templates with the whole of it anew, in a way that needs another
 * package.
 */
const SCRIPT_END = raw(['</', 'script>'].join(''));

/** The page that asks for the token. It contains nothing from outside. */
export async function loginPage(which: string, trouble?: string): Promise<string> {
  return await page(
    'Brandfill: sign in',
    html`<link rel="icon" href="icon.svg"><link rel="stylesheet" href="style.css">`,
    html`<main class="login"><h1>Brandfill</h1>
${trouble !== undefined && html`<p role="alert">${trouble}</p>`}
<form method="post" action="login"><label for="token">Token</label>
<input id="token" name="token" type="password" required autocomplete="current-password">
<button>Sign in</button></form>
<p>${which}</p></main>`,
  );
}

/** Leads on to the page: a redirect would not take the cookie along where another site led here. */
export async function enteredPage(): Promise<string> {
  return await page(
    'Brandfill',
    html`<link rel="icon" href="icon.svg"><meta http-equiv="refresh" content="0; url=./">`,
    html`<p><a href="./">Go on to Brandfill</a></p>`,
  );
}

export const NOT_BUILT = 'The page is not built yet: run npm run build.\n';

/**
 * A private file that signs in when it is opened: an address is read by others, a file of ours is
 * not.
 */
export async function signInFile(url: string, code: string): Promise<string> {
  return await page(
    'Brandfill',
    html``,
    html`<form method="post" action="${url}/enter"><input type="hidden" name="code" value="${code}">
<button>Go on to Brandfill</button></form><script>document.forms[0].submit()${SCRIPT_END}`,
  );
}

/**
 * The page of one run with the run inside: one file that needs no other, and can load nothing.
 *
 * @param assets as they are served
 */
export async function reportPage(
  view: RunView,
  assets: ReadonlyMap<string, Asset>,
): Promise<string> {
  const script = (assets.get('/main.js')?.body ?? '').replaceAll('</script', '<\\/script');
  const data = toCleanJson(view).replaceAll('<', '\\u003c');
  const hash = createHash('sha256').update(script).digest('base64');
  const policy = `default-src 'none'; script-src 'sha256-${hash}'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  return await page(
    `${view.list}: ${view.headline ?? ''}`,
    html`<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer"><meta name="generator" content="Brandfill ${view.brandfill}">
<style>${raw(assets.get('/style.css')?.body ?? '')}</style>`,
    html`<div id="app"><noscript><p>This report needs JavaScript, all of it its own.</p></noscript></div>
<script type="application/json" id="data">${raw(data)}${SCRIPT_END}
<script type="module">${raw(script)}${SCRIPT_END}`,
  );
}

async function page(title: string, head: Html, body: Html): Promise<string> {
  const made = await html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
${head}
</head>
<body>
${body}
</body>
</html>
`;
  return made.toString();
}
