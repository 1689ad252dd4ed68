import { BrandfillError } from '../errors.ts';
import type { NameValue } from './endpoint.ts';

/** How the API is told who calls. */
export type AuthScheme =
  | { readonly kind: 'none' | 'bearer' | 'basic' }
  | { readonly kind: 'header' | 'query'; readonly name: string };

/** A credential as it goes with each call. */
export interface Credential {
  readonly headers: readonly NameValue[];
  readonly queryParam: NameValue | undefined;
  /** Replaces every form of the secret in a text that is going to be shown or stored. */
  redact(text: string): string;
}

/**
 * Reads `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else. The message does not repeat what was
 * given, which may be a credential put in the wrong place.
 */
export function parseAuth(spec: string): AuthScheme {
  if (spec === 'none' || spec === 'bearer' || spec === 'basic') return { kind: spec };
  const match = /^(header|query):([\w!#$%&'*+.^`|~-]+)$/.exec(spec);
  if (!match?.[1] || !match[2] || (match[1] === 'header' && isReservedHeader(match[2]))) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'expected none, bearer, basic, header:NAME or query:NAME; the credential itself goes into BRANDFILL_API_KEY or --api-key-file',
    );
  }
  return { kind: match[1] as 'header' | 'query', name: match[2] };
}

/** Whether Brandfill or HTTP itself sets a header, so that nobody else may. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

const RESERVED =
  /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|upgrade|keep-alive)$/i;

/**
 * Puts the secret where the scheme wants it. For `basic` the secret is `user:password`; without a
 * colon it is the user name, with an empty password.
 *
 * @throws BrandfillError `INVALID_SETTING` when the scheme needs a secret and there is none, or when
 * the secret holds characters that no header can carry.
 */
export function createCredential(scheme: AuthScheme, secret: string | undefined): Credential {
  const redact = createRedactor(secret);
  if (scheme.kind === 'none') return { headers: [], queryParam: undefined, redact };
  if (!secret) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot use --auth ${scheme.kind}: there is no credential; set BRANDFILL_API_KEY or give --api-key-file FILE.`,
    );
  }
  if (scheme.kind !== 'query' && !/^[\x20-\x7e]+$/.test(secret)) {
    throw new BrandfillError(
      'INVALID_SETTING',
      'Cannot use the credential: it has characters that an HTTP header cannot carry; check for line breaks or non-ASCII letters.',
    );
  }
  const inHeader = (name: string, value: string): Credential => ({
    headers: [[name, value]],
    queryParam: undefined,
    redact,
  });
  switch (scheme.kind) {
    case 'bearer':
      return inHeader('authorization', `Bearer ${secret}`);
    case 'basic':
      return inHeader('authorization', `Basic ${base64(basicPair(secret))}`);
    case 'header':
      return inHeader(scheme.name.toLowerCase(), secret);
    case 'query':
      return { headers: [], queryParam: [scheme.name, secret], redact };
  }
}

function basicPair(secret: string): string {
  return secret.includes(':') ? secret : `${secret}:`;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** A part of a secret that is shorter stands in many words: `key:x` is how some APIs want a key. */
const SHORTEST_PART = 4;

/** Knows a secret in every form in which a server may give it back, the longest first. */
export function createRedactor(secret: string | undefined): (text: string) => string {
  if (!secret) return (text) => text;
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  const plain = [secret, password.length < SHORTEST_PART ? user : password];
  const forms = plain.flatMap((form) => [
    form,
    encodeURIComponent(form),
    encodeURIComponent(form).replaceAll(/%../g, (hex) => hex.toLowerCase()),
    JSON.stringify(form).slice(1, -1),
    base64(form),
    base64(basicPair(form)),
  ]);
  const longestFirst = [...new Set(forms)]
    .filter((form) => form !== '')
    .sort((a, b) => b.length - a.length);
  // One pass: what is put in the place of one form is not searched for the next.
  const anyForm = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  return (text) => text.replaceAll(anyForm, '[redacted]');
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}
