import { type AllowedHost, isAllowed, portOf } from './allowed-hosts.ts';

/** Where a picture is, or why it is nowhere. */
export type LogoUrl = { readonly url: URL } | { readonly reason: UrlProblem };

/** What may be wrong with a URL before anything is asked. */
export type UrlProblem = 'no_url' | 'invalid_url' | 'unsupported_scheme' | 'unsupported_port';

/**
 * The URL of a picture in what an expression found in an answer: a text, or the first text in a list.
 * What stands in it of user and password is left out; `//host/path` is taken as https.
 */
export function findLogoUrl(value: unknown, allowed: readonly AllowedHost[]): LogoUrl {
  const text = [value].flat().find((item) => typeof item === 'string' && item.trim() !== '');
  if (typeof text !== 'string') return { reason: 'no_url' };
  const trimmed = text.trim();
  return checkLogoUrl(trimmed.startsWith('//') ? `https:${trimmed}` : trimmed, undefined, allowed);
}

/** The URL of a picture as it stands in an answer, or in a redirect of another one. */
export function checkLogoUrl(
  text: string,
  base: URL | undefined,
  allowed: readonly AllowedHost[],
): LogoUrl {
  if (!URL.canParse(text, base?.href)) return { reason: 'invalid_url' };
  const url = new URL(text, base?.href);
  if (url.protocol === 'data:' && base === undefined) return { url };
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { reason: 'unsupported_scheme' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const port = portOf(url);
  const isUsual = port === 80 || port === 443;
  if (!isUsual && !isAllowed(allowed, { hostname: url.hostname, port })) {
    return { reason: 'unsupported_port' };
  }
  return { url };
}
