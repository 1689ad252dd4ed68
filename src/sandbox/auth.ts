import type { IncomingMessage } from 'node:http';
import { findParameter } from './domain-parameter.ts';

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
