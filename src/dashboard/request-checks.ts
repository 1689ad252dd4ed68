/** The headers that say where a request comes from. */
export interface OriginHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`, which pages cannot set themselves. */
  readonly fetchSite?: string | undefined;
}

/** Names of this machine for itself. */
const LOCAL = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether an address is reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  return LOCAL.test(host.includes(':') ? `[${host}]` : host);
}

/**
 * Whether a request names this machine as its host. A page elsewhere can have its own name lead to
 * 127.0.0.1 and then read all that is served there (DNS rebinding); its name betrays it.
 */
export function namesThisMachine({ host = '' }: OriginHeaders): boolean {
  return LOCAL.test(host);
}

/**
 * Whether a request that changes something comes from our own page. Browsers say so by themselves where
 * the page has TLS or is on their machine; elsewhere the page's address has to be the one that is asked,
 * so a proxy has to pass the name on. Who says nothing is refused.
 */
export function isFromOurPage({ host, origin, fetchSite }: OriginHeaders): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined) return false;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
