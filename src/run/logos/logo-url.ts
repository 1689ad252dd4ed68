/** The URL of a picture, or the reason why there is none. */
export type LogoUrl =
  | { readonly url: URL }
  | { readonly reason: 'no_url' | 'invalid_url' | 'unsupported_scheme' | 'unsupported_port' };

/**
 * Finds the URL of a picture in the result of an expression: a text, or the first text in a list. A
 * user and password in it are left out; `//host/path` is taken as https.
 *
 * @param ownOrigin the origin of the API, where pictures may be, whatever its port
 */
export function findLogoUrl(value: unknown, ownOrigin?: string): LogoUrl {
  const text = [value].flat().find((item) => typeof item === 'string' && item.trim() !== '');
  if (typeof text !== 'string') return { reason: 'no_url' };
  const trimmed = text.trim();
  return checkLogoUrl(
    trimmed.startsWith('//') ? `https:${trimmed}` : trimmed,
    undefined,
    ownOrigin,
  );
}

/**
 * Checks the URL of a picture, from an answer or, with the URL before as `base`, from a redirect.
 */
export function checkLogoUrl(
  text: string,
  base: URL | undefined,
  ownOrigin: string | undefined,
): LogoUrl {
  if (!URL.canParse(text, base?.href)) return { reason: 'invalid_url' };
  const url = new URL(text, base?.href);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return { reason: 'unsupported_scheme' };
  url.username = '';
  url.password = '';
  url.hash = '';
  const isUsual = /^(?:80|443)?$/.test(url.port);
  return isUsual || url.origin === ownOrigin ? { url } : { reason: 'unsupported_port' };
}
