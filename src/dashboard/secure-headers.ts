import type { MiddlewareHandler } from 'hono';

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
export const secureHeaders: MiddlewareHandler = async (context, next) => {
  for (const [name, value] of Object.entries(HEADERS)) context.header(name, value);
  await next();
};
