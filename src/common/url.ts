/**
 * Parses a URL of http or https; undefined for any other text.
 *
 * A password with a `/`, `?` or `#` ends the host for whoever parses the URL: the user is taken for
 * the host, and the `@` comes to stand further behind. Such a URL is no URL here, so whoever shows a
 * host never shows a part of a login.
 */
export function parseHttpUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const isHttp = url.protocol === 'http:' || url.protocol === 'https:';
  return isHttp && !`${url.pathname}${url.search}${url.hash}`.includes('@') ? url : undefined;
}

/** What was received, for a message: only what looks like a host with a path can hold no login. */
export function receivedUrl(text: string): string {
  const isHarmless = /^([a-z]{2,10}:\/\/)?[\w.-]*(:\d{1,5})?(\/[\w./~-]*)?$/i.test(text);
  return isHarmless ? `received '${text}'` : 'received something else';
}

/** User and password of a URL, decoded, however it is written; undefined when there are none. */
export function loginOf(url: string): string | undefined {
  const [, login] = /^\s*(?:[a-z][a-z0-9+.-]*:)?\/\/(.*)@/is.exec(url) ?? [];
  if (!login) return undefined;
  try {
    return decodeURIComponent(login);
  } catch {
    return login;
  }
}
