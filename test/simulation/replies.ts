import type { Exchanged } from '../../src/brand/transport.ts';

/**
 * What a call can be answered: a status with words in JSON, or with a page, or one of these.
 *
 * | name | is |
 * |---|---|
 * | `found` | a record |
 * | `200 words` | 200 with a failure in its body |
 * | `200 same` | one record for all, but for an id in it |
 * | `302` | a redirect to a login |
 * | `cut` | a record that breaks off |
 * | `reset`, `refused`, `dns`, `never` | no answer |
 */
export type ReplyName =
  | 'found'
  | '200 words'
  | '200 same'
  | 'cut'
  | keyof typeof ERRORS
  | `${202 | 302 | 400 | 401 | 402 | 403 | 404 | 422 | 429 | 500 | 502 | 503}`
  | `${200 | 403 | 404 | 500 | 503} page`;

const ERRORS = {
  reset: 'ECONNRESET',
  refused: 'ECONNREFUSED',
  dns: 'EAI_AGAIN',
  never: 'ETIMEDOUT',
} as const;

/** What a call is answered, before it is sent. */
export interface Told {
  readonly name: ReplyName;
  /** What it says, in JSON. */
  readonly words: string;
  readonly headers?: Exchanged['headers'];
}

/** An answer as a transport hands it on. @throws the error of a call without one */
export function toExchanged({ name, words, headers = {} }: Told): Exchanged {
  const code = Object.hasOwn(ERRORS, name) ? ERRORS[name as keyof typeof ERRORS] : undefined;
  if (code) throw errorOf(code);
  const isPage = name.endsWith(' page');
  const httpStatus = Number.parseInt(name, 10) || 200;
  const text = isPage ? pageOf(httpStatus) : words;
  const isCut = name === 'cut';
  return {
    httpStatus,
    headers: {
      'content-type': isPage ? 'text/html' : 'application/json',
      ...headers,
      ...(httpStatus === 302 && { location: '/login' }),
    },
    bytes: Buffer.from(isCut ? text.slice(0, text.length / 2) : text),
    isCut: false,
    bodyError: isCut ? errorOf(ERRORS.reset) : undefined,
  };
}

export function errorOf(code: string): Error {
  return Object.assign(new Error(code), { code });
}

function pageOf(httpStatus: number): string {
  const title = httpStatus === 200 ? 'Sign in' : `${httpStatus} Error`;
  return `<html><head><title>${title}</title></head><body>${title}</body></html>`;
}

/** What an answer says that is about all, or about any domain. */
export function wordsOf(name: ReplyName, nth: number): string {
  if (name === '200 same') {
    return JSON.stringify({
      name: 'Welcome',
      country: 'NL',
      requestId: hash(`${nth}`).toString(16),
    });
  }
  return JSON.stringify({ error: SAID[name.slice(0, 3)] ?? 'Something went wrong.' });
}

const SAID: Readonly<Record<string, string>> = {
  202: 'This company is being looked up.',
  400: 'The parameter is missing.',
  401: 'The key is not valid.',
  403: 'Access denied.',
  404: 'No such company.',
  422: 'This domain cannot be looked up.',
  429: 'Please slow down.',
  503: 'Back in a moment.',
};

/** What a limit says, whatever its status. */
export const LIMIT_WORDS = JSON.stringify({ error: 'The limit of your plan is reached.' });

/** What no other domain is told: it names the company. */
export function ownWords(domain: string): string {
  return JSON.stringify({ error: `${companyOf(domain)} has asked not to be listed.` });
}

export function recordOf(domain: string): string {
  return JSON.stringify({ domain, name: companyOf(domain) });
}

export const HOLDING_RECORD = JSON.stringify({ domain: 'holding.example', name: 'Holding' });

const SYLLABLES =
  'an bel cor dun el fer gal hov in jas kel lor mun nor ost per ras sul tor vin'.split(' ');

function companyOf(domain: string): string {
  let rest = hash(domain);
  let name = '';
  for (let at = 0; at < 4; at += 1, rest = Math.floor(rest / SYLLABLES.length)) {
    name += SYLLABLES[rest % SYLLABLES.length];
  }
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/** @see {@link http://www.isthe.com/chongo/tech/comp/fnv/ FNV-1a}, in 32 bits */
export function hash(text: string): number {
  let hashed = 2_166_136_261;
  for (let at = 0; at < text.length; at += 1) {
    hashed = Math.imul(hashed ^ text.charCodeAt(at), 16_777_619);
  }
  return hashed >>> 0;
}
