import type { IncomingMessage } from 'node:http';

/** The credential that the sandbox asks for. */
export interface SandboxAuth {
  /** Where the key travels: the `Authorization` header, another header, or a query parameter. */
  scheme: 'bearer' | 'basic' | { header: string } | { query: string };
  /** For `basic`: `user:password`, or the user alone, whose password is then empty. */
  key: string;
}

/** Checks whether a request brings the right credential. */
export type AuthCheck = (request: IncomingMessage, query: string) => boolean;

/** Create the check of the credential, or `undefined` when none is required. */
export function createAuthCheck(auth: SandboxAuth | undefined): AuthCheck | undefined {
  if (auth === undefined) return undefined;
  const { scheme, key } = auth;
  if (scheme === 'bearer') return (request) => hasAuthorization(request, 'bearer', key);
  if (scheme === 'basic') {
    const pair = Buffer.from(key.includes(':') ? key : `${key}:`).toString('base64');
    return (request) => hasAuthorization(request, 'basic', pair);
  }
  if ('header' in scheme) {
    const header = scheme.header.toLowerCase();
    return (request) => request.headers[header] === key;
  }
  return (_request, query) => findParameter(query, scheme.query) === key;
}

/** Compares the name of a scheme without case, and the rest exactly (RFC 9110, section 11.1). */
function hasAuthorization(request: IncomingMessage, scheme: string, value: string): boolean {
  const sent = request.headers.authorization;
  if (sent === undefined) return false;
  const space = sent.indexOf(' ');
  return sent.slice(0, space).toLowerCase() === scheme && sent.slice(space + 1).trim() === value;
}

/** The `WWW-Authenticate` header of a 401, where the scheme has one. */
export function createChallenge(auth: SandboxAuth | undefined): Record<string, string> {
  if (auth?.scheme === 'bearer') return { 'WWW-Authenticate': 'Bearer' };
  if (auth?.scheme === 'basic') return { 'WWW-Authenticate': 'Basic realm="sandbox"' };
  return {};
}

/** The reason why a `domain` parameter is refused, as it goes into the answer. */
interface DomainProblem {
  status: 400 | 422;
  code: 'missing_domain' | 'invalid_domain';
  message: string;
}

/**
 * Find a parameter in a query string and decode it. Returns `undefined` when it is missing or cannot be decoded.
 *
 * @param query without the leading question mark
 */
export function findParameter(query: string, name: string): string | undefined {
  const start = findValue(query, `${name}=`);
  if (start === -1) return undefined;
  const end = query.indexOf('&', start);
  const raw = query.slice(start, end === -1 ? undefined : end);
  return /[%+]/.test(raw) ? decode(raw) : raw;
}

/** The place where the value of the parameter begins, or -1. */
function findValue(query: string, key: string): number {
  if (query.startsWith(key)) return key.length;
  const at = query.indexOf(`&${key}`);
  return at === -1 ? -1 : at + 1 + key.length;
}

function decode(raw: string): string | undefined {
  try {
    return decodeURIComponent(raw.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

const DOMAIN =
  /^(?=.{4,253}$)(?!www\.[^.]+\.)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+(?:[a-z]{2,63}|xn--[a-z0-9-]{1,59})$/;

/**
 * Find out why a domain is refused; `undefined` means that it is fine. Providers want the bare
 * lower-case ASCII domain.
 */
export function findDomainProblem(domain: string | undefined): DomainProblem | undefined {
  if (domain !== undefined && DOMAIN.test(domain)) return undefined;
  if (domain === undefined || domain === '') {
    return { status: 400, code: 'missing_domain', message: 'The parameter domain is required.' };
  }
  const message = 'The parameter domain is no bare domain such as example.com.';
  return { status: 422, code: 'invalid_domain', message };
}
