/** The headers that say where a request comes from. */
export interface OriginHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`, which pages cannot set themselves. */
  readonly fetchSite?: string | undefined;
}

/** Names that this machine has for itself. */
const LOCAL = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i;

/** Whether an address can be reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  return LOCAL.test(host.includes(':') ? `[${host}]` : host);
}

/**
 * Whether a request names this machine as its host. A page elsewhere can make its own name resolve
 * to 127.0.0.1 and then read everything that is served there (DNS rebinding), but its name gives it
 * away.
 */
export function namesThisMachine({ host = '' }: OriginHeaders): boolean {
  return LOCAL.test(host);
}

/**
 * Whether a request that changes something comes from our own page. Browsers say so by themselves
 * if the page has TLS or is on their machine. Otherwise the origin of the page has to be the host
 * that is asked, so a proxy has to pass the host on. A request that says nothing is refused.
 */
export function isFromOurPage({ host, origin, fetchSite }: OriginHeaders): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined) return false;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}
