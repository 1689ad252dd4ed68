import { refusal } from '../common/errors.ts';
import { basicPair, createRedactor, type Redactor } from '../common/secrets.ts';
import type { NameValue } from './endpoint.ts';

/** How the credential is sent. */
export type AuthScheme =
  | { readonly kind: 'none' | 'bearer' | 'basic' }
  | { readonly kind: 'header' | 'query'; readonly name: string };

/** A credential as it is sent with each call. */
export interface Credential {
  readonly headers: readonly NameValue[];
  readonly queryParam: NameValue | undefined;
  /** Why none goes with the calls: one is `kept`, though it is set, or there is `none`. */
  readonly unsent?: 'kept' | 'none' | undefined;
  /** Takes the secret, and whatever else that is secret goes with each call, out of answers. */
  readonly redactor: Redactor;
}

/**
 * Reads `none`, `bearer`, `basic`, `header:NAME` or `query:NAME`.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else. The message does not repeat the
 *   value, which may be a credential put in the wrong place.
 */
export function parseAuth(spec: string): AuthScheme {
  if (spec === 'none' || spec === 'bearer' || spec === 'basic') return { kind: spec };
  const match = /^(header|query):([\w!#$%&'*+.^`|~-]+)$/.exec(spec);
  if (!match?.[1] || !match[2] || (match[1] === 'header' && isReservedHeader(match[2]))) {
    throw refusal(
      'expected none, bearer, basic, header:NAME or query:NAME; the credential itself is no part of it',
    );
  }
  return { kind: match[1] as 'header' | 'query', name: match[2] };
}

/** Whether a parameter or header of this name carries a credential: its last word says so. */
export function isCredentialName(name: string): boolean {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2').toLowerCase();
  return /(^|[^a-z]|api|access|auth|app|client|secret)(key|token|secret|passwo?r?d|pwd|credentials?|auth|authorization|jwt)[^a-z]*$/.test(
    words,
  );
}

/** Whether Brandfill or HTTP itself sets a header, so that users may not. */
export function isReservedHeader(name: string): boolean {
  return RESERVED.test(name);
}

const RESERVED =
  /^(host|connection|content-length|transfer-encoding|accept-encoding|expect|upgrade|keep-alive)$/i;

/**
 * Puts the secret where the scheme sends it. For `basic` the secret is `user:password`; without a
 * colon it is the user name, with an empty password.
 *
 * @param otherSecrets what else must not be seen in answers
 * @throws BrandfillError `INVALID_SETTING` when the scheme needs a secret and there is none, or
 *   when the secret holds characters that no header can carry.
 */
export function createCredential(
  scheme: AuthScheme,
  secret: string | undefined,
  otherSecrets: readonly string[] = [],
): Credential {
  const redactor = createRedactor([...(secret ? [secret] : []), ...otherSecrets]);
  if (scheme.kind === 'none') {
    const unsent = secret ? 'kept' : otherSecrets.length === 0 ? 'none' : undefined;
    return { headers: [], queryParam: undefined, unsent, redactor };
  }
  if (!secret) {
    throw refusal(
      `Cannot use option 'auth' ${scheme.kind}: there is no credential; set BRANDFILL_API_KEY or give option 'apiKeyFile' FILE.`,
    );
  }
  if (scheme.kind !== 'query' && !/^[\x20-\x7e]+$/.test(secret)) {
    throw refusal(
      'Cannot use the credential: it has characters that an HTTP header cannot carry; check for line breaks or non-ASCII letters.',
    );
  }
  const inHeader = (name: string, value: string): Credential => ({
    headers: [[name, value]],
    queryParam: undefined,
    redactor,
  });
  switch (scheme.kind) {
    case 'bearer':
      return inHeader('authorization', `Bearer ${secret}`);
    case 'basic':
      return inHeader(
        'authorization',
        `Basic ${Buffer.from(basicPair(secret)).toString('base64')}`,
      );
    case 'header':
      return inHeader(scheme.name.toLowerCase(), secret);
    case 'query':
      return { headers: [], queryParam: [scheme.name, secret], redactor };
  }
}
