import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Decides who may see the page. */
export interface Access {
  /** Whether the page is open to everybody, without a token. */
  readonly isOpen: boolean;
  /**
   * Whether a request has the cookie of somebody who gave the token, or has the token in a header.
   * Wrong tokens in headers count like wrong tokens that are typed in.
   */
  isGranted(request: AccessRequest): boolean;
  /** Checks a token that was typed in. */
  tryToken(token: string, from: string): Verdict;
  /**
   * The cookie that a browser keeps instead of the token; valid for as long as this process lives.
   */
  readonly cookie: { readonly name: string; readonly value: string };
}

export interface AccessRequest {
  readonly cookie?: string | undefined;
  readonly authorization?: string | undefined;
  /** The address that the request comes from. */
  readonly from?: string | undefined;
}

export type Verdict = 'granted' | 'wrong' | 'too_often';

export interface AccessOptions {
  /** Undefined lets everybody in. */
  readonly token: string | undefined;
  readonly now?: () => number;
}

const COOKIE = 'brandfill_session';
/** This many wrong tokens may come from one address within a minute. */
const MOST_WRONG = 10;
const WRONG_FOR_MS = 60_000;
const MOST_ADDRESSES = 10_000;

/**
 * Lets in everybody who knows the token. The browser gets a cookie that is made from the token with
 * a key of this process: neither the token nor the cookie of a later process can be derived from
 * it.
 */
export function createAccess({ token, now = Date.now }: AccessOptions): Access {
  const key = randomBytes(32);
  const cookie = createHmac('sha256', key)
    .update(token ?? '')
    .digest('base64url');
  /** Times of wrong tokens, by address. */
  const wrong = new Map<string, number[]>();

  function recentlyWrong(from: string): number[] {
    const since = now() - WRONG_FOR_MS;
    return (wrong.get(from) ?? []).filter((atMs) => atMs > since);
  }

  function noteWrong(from: string): void {
    wrong.set(from, [...recentlyWrong(from), now()]);
    const [oldest] = wrong.keys();
    if (wrong.size > MOST_ADDRESSES && oldest !== undefined) wrong.delete(oldest);
  }

  function tryToken(given: string, from: string): Verdict {
    if (token === undefined) return 'granted';
    if (recentlyWrong(from).length >= MOST_WRONG) return 'too_often';
    if (isSame(given, token)) {
      wrong.delete(from);
      return 'granted';
    }
    noteWrong(from);
    return 'wrong';
  }

  return {
    isOpen: token === undefined,
    isGranted: ({ cookie: cookies, authorization, from = '' }) => {
      if (token === undefined) return true;
      const shown = findCookie(cookies, COOKIE);
      if (shown !== undefined && isSame(shown, cookie)) return true;
      const [, bearer] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
      return bearer !== undefined && tryToken(bearer, from) === 'granted';
    },
    tryToken,
    cookie: { name: COOKIE, value: cookie },
  };
}

/** Takes the same time wherever two texts differ, and however long they are. */
function isSame(a: string, b: string): boolean {
  const [hashA, hashB] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return hashA !== undefined && hashB !== undefined && timingSafeEqual(hashA, hashB);
}

function findCookie(cookies: string | undefined, name: string): string | undefined {
  for (const pair of (cookies ?? '').split(';')) {
    const [found, value] = pair.trim().split('=', 2);
    if (found === name) return value;
  }
  return undefined;
}
