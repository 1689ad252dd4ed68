import { BrandfillError } from './errors.ts';
import { receivedUrl } from './url.ts';

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
