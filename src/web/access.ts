import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { BrandfillError } from '../common/errors.ts';
import { keepSecret } from '../common/secrets.ts';
import { readSecret } from '../options/api.ts';
import type { ListenAddress } from '../options/network-kinds.ts';
import { type Clock, systemClock } from '../pace/clock.ts';
import { isLocalAddress } from './listener.ts';

/** Decides who may see the page. */
export interface Access {
  /** Whether the page is open to everybody, without a token. */
  readonly isOpen: boolean;
  /**
   * Whether a request has the cookie of somebody who gave the token, or has the token in a header.
   * Wrong tokens in headers count like wrong tokens that are typed in.
   */
  isGranted(request: AccessRequest): Promise<boolean>;
  /** Checks a token that was typed in. The right one never waits, a wrong one is answered late. */
  tryToken(token: string, asker: Asker): Promise<Verdict>;
  /**
   * The cookie that a browser keeps instead of the token; valid for as long as this process lives.
   */
  readonly cookie: { readonly name: string; readonly value: string };
}

/** Where a request comes from. */
export interface Asker {
  readonly from: string;
  /** Fires when nobody waits for the answer any more. */
  readonly gone: AbortSignal;
}

export interface AccessRequest extends Asker {
  readonly cookie?: string | undefined;
  readonly authorization?: string | undefined;
}

export type Verdict = 'granted' | 'wrong' | 'too_often';

export interface AccessOptions {
  /** Undefined lets everybody in. */
  readonly token: string | undefined;
  /** Cookies know no ports: servers of one machine need names of their own. @default the dashboard's */
  readonly cookieName?: string | undefined;
  readonly clock?: Clock;
}

const COOKIE = 'brandfill_session';
/** The answer to a wrong token takes this long, and twice as long with each further one. */
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;
/** An address that gave no wrong token for this long begins anew. */
const FORGOTTEN_AFTER_MS = 60_000;
const MOST_ADDRESSES = 10_000;
/** Beyond this many late answers, those to further wrong tokens take no room. */
const MOST_WAITING = 1_000;

/**
 * Lets in everybody who knows the token, whatever else comes from the same address: many people may
 * share one. The browser gets a cookie that is made from the token with a key of this process:
 * neither the token nor the cookie of a later process can be derived from it.
 */
export function createAccess({
  token,
  cookieName = COOKIE,
  clock = systemClock,
}: AccessOptions): Access {
  const key = randomBytes(32);
  const cookie = createHmac('sha256', key)
    .update(token ?? '')
    .digest('base64url');
  /** Wrong tokens in a row, by address; the latest at the end. */
  const wrong = new Map<string, { readonly count: number; readonly atMs: number }>();
  let waiting = 0;

  function noteWrong(from: string): number {
    const atMs = clock.nowMs();
    const { count = 0, atMs: lastMs = 0 } = wrong.get(from) ?? {};
    const before = atMs - lastMs > FORGOTTEN_AFTER_MS ? 0 : count;
    wrong.delete(from);
    wrong.set(from, { count: before + 1, atMs });
    const [oldest] = wrong.keys();
    if (wrong.size > MOST_ADDRESSES && oldest !== undefined) wrong.delete(oldest);
    return Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** before);
  }

  async function tryToken(given: string, { from, gone }: Asker): Promise<Verdict> {
    if (token === undefined || isSame(given, token)) return 'granted';
    const delayMs = noteWrong(from);
    if (waiting >= MOST_WAITING) return 'too_often';
    waiting += 1;
    try {
      await clock.sleep(delayMs, gone);
    } catch {
      // Nobody waits for the answer.
    } finally {
      waiting -= 1;
    }
    return 'wrong';
  }

  return {
    isOpen: token === undefined,
    isGranted: async ({ cookie: cookies, authorization, ...asker }) => {
      if (token === undefined) return true;
      const shown = findCookie(cookies, cookieName);
      if (shown !== undefined && isSame(shown, cookie)) return true;
      const [, bearer] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
      return bearer !== undefined && (await tryToken(bearer, asker)) === 'granted';
    },
    tryToken,
    cookie: { name: cookieName, value: cookie },
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

/** The places where the token may come from. */
export interface TokenSources {
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gives the name of a setting in messages. */
  readonly describe: (key: 'token' | 'tokenFile' | 'listen') => string;
  /** The page that it is for. @default the dashboard */
  readonly page?: TokenPage | undefined;
}

/** A page that asks for a token: what it is called, and the variable with its token. */
interface TokenPage {
  readonly name: string;
  readonly variable: string;
}

const DASHBOARD: TokenPage = { name: 'the dashboard', variable: 'BRANDFILL_DASHBOARD_TOKEN' };

/** An attacker could guess a shorter token in the long run. */
const SHORTEST = 16;

/**
 * Reads the token of a page, and insists on one if other machines can reach it.
 *
 * @returns undefined when there is none, and none is needed
 * @throws BrandfillError `INVALID_SETTING`; it never repeats the token
 */
export function readToken(sources: TokenSources, listen: ListenAddress): string | undefined {
  const { tokenFile, env, describe, page: { name, variable } = DASHBOARD } = sources;
  const token = sources.token ?? readSecret(tokenFile, env[variable]);
  if (token === undefined) {
    if (isLocalAddress(listen.host)) return undefined;
    throw refusal(
      `Cannot show ${name} on ${listen.host}, where others can reach it, without a token: set ${variable}, or give ${describe('tokenFile')}; or ${name === DASHBOARD.name ? `give ${describe('listen')} a port alone` : `leave ${describe('listen')} out`}, for this machine only.`,
    );
  }
  if (token.length < SHORTEST || !/^[\x21-\x7e]+$/.test(token)) {
    throw refusal(
      `Cannot use the token of ${name}: expected at least ${SHORTEST} letters, digits or signs, such as \`openssl rand -hex 16\` gives.`,
    );
  }
  keepSecret(token);
  return token;
}

function refusal(message: string): BrandfillError {
  return new BrandfillError('INVALID_SETTING', message);
}
