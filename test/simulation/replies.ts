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
  | 'cut'
  | keyof typeof ERRORS
  | `${202 | 302 | 400 | 401 | 402 | 403 | 404 | 410 | 422 | 429 | 500 | 502 | 503}`
  | `200 ${'words' | 'same' | 'page'}`
  | `${403 | 404 | 429 | 500 | 503} page`;

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
  if (Object.hasOwn(ERRORS, name)) throw errorOf(name as keyof typeof ERRORS);
  const httpStatus = Number.parseInt(name, 10) || 200;
  const isPage = name.endsWith(' page');
  const isCut = name === 'cut';
  const title = httpStatus === 200 ? 'Sign in' : `${httpStatus} Error`;
  const text = isPage ? `<html><title>${title}</title><body>${title}</body></html>` : words;
  const location = httpStatus === 302 ? { location: '/login' } : {};
  return {
    httpStatus,
    headers: { 'content-type': isPage ? 'text/html' : 'application/json', ...headers, ...location },
    bytes: Buffer.from(isCut ? text.slice(0, text.length / 2) : text),
    isCut: false,
    bodyError: isCut ? errorOf('reset') : undefined,
  };
}

export function errorOf(name: keyof typeof ERRORS): Error {
  return Object.assign(new Error(name), { code: ERRORS[name] });
}

/** What an answer says that is about all, or about any domain. */
export function wordsOf(name: ReplyName, nth: number): string {
  if (name === 'found') return JSON.stringify({ domain: 'holding.example', name: 'Holding' });
  if (name === '200 same') return JSON.stringify({ name: 'Welcome', requestId: hash(`${nth}`) });
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
export const LIMIT_WORDS: string = JSON.stringify({ error: 'The limit of your plan is reached.' });

/** What no other domain is told: it names the company. */
export const ownWords = (domain: string): string =>
  JSON.stringify({ error: `${companyOf(domain)} has asked not to be listed.` });

export const recordOf = (domain: string): string =>
  JSON.stringify({ domain, name: companyOf(domain) });

const SYLLABLES = 'an bel cor dun el fer gal hov in jas kel lor mun nor ost per ras sul tor'.split(
  ' ',
);

function companyOf(domain: string): string {
  let rest = hash(domain);
  let name = '';
  for (; rest > 0; rest = Math.floor(rest / SYLLABLES.length))
    name += SYLLABLES[rest % SYLLABLES.length];
  return name;
}

/** @see {@link http://www.isthe.com/chongo/tech/comp/fnv/ FNV-1a}, in 32 bits */
export function hash(text: string): number {
  let hashed = 2_166_136_261;
  for (const byte of Buffer.from(text)) hashed = Math.imul(hashed ^ byte, 16_777_619);
  return hashed >>> 0;
}
