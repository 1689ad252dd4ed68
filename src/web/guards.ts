import type { Context, MiddlewareHandler } from 'hono';
import type { Access, AccessRequest, Asker } from './access.ts';
import { type AddressFinder, isFromOurPage, type OriginHeaders } from './listener.ts';

/** What stands before the routes of a page. */
export interface Guards {
  /** For everybody who asks under a name of ours. */
  readonly open: readonly [Handler, Handler];
  /** For those who have signed in. */
  readonly guarded: readonly [Handler, Handler, Handler];
  /** For those, and from the page itself alone. */
  readonly changing: readonly [Handler, Handler, Handler, Handler];
  readonly checkOrigin: MiddlewareHandler;
  readonly askerOf: (context: Context) => Asker;
  readonly accessOf: (context: Context) => AccessRequest;
}

type Handler = MiddlewareHandler;

export interface GuardsOptions {
  readonly access: Access;
  readonly addressOf: AddressFinder;
  /** Lets only names through that are known to be ours. */
  readonly checkHost: MiddlewareHandler;
  /** Words a refusal for whoever asked. @default a line of text */
  readonly refuse?: ((context: Context, status: 401 | 403, why: string) => Response) | undefined;
}

const NOT_OUR_PAGE =
  'This can only be asked on our own page. A proxy in front of it has to pass the Host header on.';

/** Makes the guards of a page, which are the same for every page. */
export function createGuards({
  access,
  addressOf,
  checkHost,
  refuse = (context, status, why) => context.text(`${why}\n`, status),
}: GuardsOptions): Guards {
  const askerOf = (context: Context): Asker => ({
    from: addressOf(context),
    gone: context.req.raw.signal,
  });
  const accessOf = (context: Context): AccessRequest => {
    const { req } = context;
    const [cookie, authorization] = [req.header('cookie'), req.header('authorization')];
    return { ...askerOf(context), cookie, authorization };
  };
  const checkAccess: MiddlewareHandler = async (context, next) => {
    if (await access.isGranted(accessOf(context))) return await next();
    return refuse(context, 401, 'Sign in first.');
  };
  const checkOrigin: MiddlewareHandler = async (context, next) => {
    if (isFromOurPage(originOf(context))) return await next();
    return refuse(context, 403, NOT_OUR_PAGE);
  };
  const open = [secureHeaders, checkHost] as const;
  const guarded = [...open, checkAccess] as const;
  const changing = [...guarded, checkOrigin] as const;
  return { open, guarded, changing, checkOrigin, askerOf, accessOf };
}

function originOf({ req }: Context): OriginHeaders {
  const [host, origin] = [req.header('host'), req.header('origin')];
  return { host, origin, fetchSite: req.header('sec-fetch-site') };
}

const MOST_TOKEN_BYTES = 4_096;

/** The token that was typed into the page that asks for it. */
export async function readTypedToken({ req }: Context): Promise<string> {
  const length = Number(req.header('content-length') ?? Number.POSITIVE_INFINITY);
  if (!(length <= MOST_TOKEN_BYTES)) return '';
  return new URLSearchParams(await req.text()).get('token') ?? '';
}

/**
 * A cookie that is sent back only to us, never on behalf of another page, and that scripts cannot
 * read.
 */
export function cookieOf({ req }: Context, { cookie }: Access): string {
  const isEncrypted = req.header('origin')?.startsWith('https:') === true;
  return `${cookie.name}=${cookie.value}; Path=/; HttpOnly; SameSite=Strict${isEncrypted ? '; Secure' : ''}`;
}

/**
 * Everything comes from us, no script or style from injected markup runs, and nobody frames the
 * page.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

const HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // With `no-referrer`, browsers would not send an origin along with a form either.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Sends the headers that keep others out of the page with each answer. */
const secureHeaders: MiddlewareHandler = async (context, next) => {
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  await next();
};

/** What the page that asks for a token is about. */
export interface LoginPage {
  /** Says which token is meant, as markup. */
  readonly which: string;
  /** The style sheets. */
  readonly styles: readonly string[];
}

/**
 * The page that asks for the token. It contains nothing from outside.
 *
 * @param trouble what is wrong with the one that was given. @default none was given
 */
export function loginPage({ which, styles }: LoginPage, trouble?: string): string {
  const alert = trouble === undefined ? '' : `<p role="alert">${trouble}</p>`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Brandfill: sign in</title>
    <link rel="icon" href="icon.svg" />
    ${styles.map((name) => `<link rel="stylesheet" href="${name}" />`).join('\n    ')}
  </head>
  <body>
    <main class="login">
      <h1>Brandfill</h1>
      ${alert}
      <form method="post" action="login">
        <label for="token">Token</label>
        <input id="token" name="token" type="password" required autocomplete="current-password" />
        <button>Sign in</button>
      </form>
      <p>${which}</p>
    </main>
  </body>
</html>
`;
}
