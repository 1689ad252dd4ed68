import { BrandfillError } from './errors.ts';

/** A host whose address is not checked. */
export interface AllowedHost {
  /** As `URL.hostname` has it. */
  readonly hostname: string;
  /** Undefined for every port. */
  readonly port: number | undefined;
}

/**
 * Reads `HOST` or `HOST:PORT`; an IPv6 address must be in brackets.
 *
 * @throws BrandfillError `INVALID_SETTING`
 */
export function parseAllowedHost(text: string): AllowedHost {
  const [, host = '', port] = /^(.*?)(?::(\d{1,5}))?$/s.exec(text.trim()) ?? [];
  const isPlain = host !== '' && !/[/?#@\\*,\s]/.test(host);
  const url = `http://${host}/`;
  if (isPlain && URL.canParse(url) && Number(port ?? 1) >= 1 && Number(port ?? 1) <= 65_535) {
    const { hostname, port: rest } = new URL(url);
    if (rest === '') return { hostname, port: port === undefined ? undefined : Number(port) };
  }
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected HOST or HOST:PORT such as media.intranet.example or localhost:8080, ${receivedUrl(text)}`,
  );
}

/** Whether a host is one of the allowed ones. */
export function isAllowed(
  hosts: readonly AllowedHost[],
  { hostname, port }: { readonly hostname: string; readonly port: number },
): boolean {
  return hosts.some((host) => host.hostname === hostname && (host.port ?? port) === port);
}

/** The port that a URL leads to. */
export function portOf({ protocol, port }: Pick<URL, 'protocol' | 'port'>): number {
  return port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port);
}

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
