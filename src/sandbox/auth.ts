import type { IncomingMessage } from 'node:http';

/** The credential that the sandbox asks for. */
export interface SandboxAuth {
  /** How the key travels, as `--auth` has it. */
  scheme: { kind: 'bearer' | 'basic' } | { kind: 'header' | 'query'; name: string };
  /** For `basic`: `user:password`, or the user alone, whose password is then empty. */
  key: string;
}

/** Whether a request brings the right credential. */
export function isAuthorized(
  { scheme, key }: SandboxAuth,
  request: IncomingMessage,
  query: string,
): boolean {
  if (scheme.kind === 'query') return findParameter(query, scheme.name) === key;
  if (scheme.kind === 'header') return request.headers[scheme.name.toLowerCase()] === key;
  const pair = Buffer.from(key.includes(':') ? key : `${key}:`).toString('base64');
  // The name of the scheme without case, the rest exactly (RFC 9110, section 11.1).
  const [, name = '', value] = /^(\S+) +(.*)/.exec(request.headers.authorization ?? '') ?? [];
  return (
    name.toLowerCase() === scheme.kind && value?.trim() === (scheme.kind === 'basic' ? pair : key)
  );
}

/** The `WWW-Authenticate` header of a 401, where the scheme has one. */
export function challengeOf({ scheme }: SandboxAuth): Record<string, string> {
  if ('name' in scheme) return {};
  return { 'WWW-Authenticate': scheme.kind === 'basic' ? 'Basic realm="sandbox"' : 'Bearer' };
}

/**
 * Find a parameter in a query string and decode it. Returns `undefined` when it is missing or
 * cannot be decoded.
 *
 * @param query without the leading question mark
 */
export function findParameter(query: string, name: string): string | undefined {
  const pair = query.split('&').find((one) => one.startsWith(`${name}=`));
  try {
    return pair && decodeURIComponent(pair.slice(name.length + 1).replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** The reason why a `domain` parameter is refused, as it goes into the answer. */
interface DomainProblem {
  status: 400 | 422;
  code: string;
  message: string;
}

const DOMAIN =
  /^(?=.{4,253}$)(?!www\.[^.]+\.)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/**
 * Find out why a domain is refused; `undefined` means that it is fine. Providers want the bare
 * lower-case ASCII domain.
 */
export function findDomainProblem(domain: string): DomainProblem | undefined {
  if (DOMAIN.test(domain)) return undefined;
  if (domain === '') {
    return { status: 400, code: 'missing_domain', message: 'The parameter domain is required.' };
  }
  const message = 'The parameter domain is no bare domain such as example.com.';
  return { status: 422, code: 'invalid_domain', message };
}
