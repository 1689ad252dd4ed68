import type { MiddlewareHandler } from 'hono';

/** Everything comes from us, nothing from markup that somebody may have got in, and nobody frames it. */
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
  // With `no-referrer`, browsers send no origin along with a form either.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Sends with each answer what keeps others out of the page. */
export const secureHeaders: MiddlewareHandler = async (context, next) => {
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  await next();
};
