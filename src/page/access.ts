import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { HTTPException } from 'hono/http-exception';
import { validator } from 'hono/validator';
import type { z } from 'zod';
import { isLocalAddress } from '../common/addresses.ts';
import { refusal } from '../common/errors.ts';
import { inTime } from '../common/lifetime.ts';
import { keepSecret } from '../common/secrets.ts';
import type { ListenAddress } from '../options/kinds.ts';
import { isFromOurPage } from './listener.ts';

/** Decides who may see a page, and from where something may be changed. */
export type Access = ReturnType<typeof createAccess>;

export interface AccessOptions {
  /** Undefined lets everybody in. */
  readonly token: string | undefined;
  /**
   * Cookies know no ports: servers of one machine need names of their own.
   *
   * @default the dashboard's
   */
  readonly cookieName?: string | undefined;
  /** The present time in milliseconds. @default of this process */
  readonly now?: () => number;
}

const MOST_SESSIONS = 1_000;
const MOST_CODES = 100;
const MOST_TOKEN_BYTES = 4_096;
const LOGIN_MS = 10_000;

/**
 * Sessions are random and live as long as this process. Wrong tokens are not counted: sixteen signs
 * are not found by trying, and whoever tries would keep out all that come by the same proxy.
 */
export function createAccess(options: AccessOptions) {
  const { token, cookieName = 'brandfill_session', now = () => performance.now() } = options;
  const sessions = new Set<string>();
  /** Each code with its end, and, once it is used, the session that it began. */
  const codes = new Map<string, { readonly untilMs: number; session?: string }>();

  function begin(context: Context): string {
    const session = randomBytes(24).toString('base64url');
    sessions.add(hashOf(session));
    dropOldest(sessions, MOST_SESSIONS);
    const secure = context.req.header('origin')?.startsWith('https:') === true;
    setCookie(context, cookieName, session, { httpOnly: true, sameSite: 'Strict', secure });
    return hashOf(session);
  }

  function isGranted(context: Context): boolean {
    if (token === undefined) return true;
    const shown = getCookie(context, cookieName);
    if (shown !== undefined && sessions.has(hashOf(shown))) return true;
    const [, bearer] = /^Bearer +(\S+)$/i.exec(context.req.header('authorization') ?? '') ?? [];
    return bearer !== undefined && isSame(bearer, token);
  }

  return {
    /**
     * Lets in who has signed in, or has the token in a header; what changes something, from our
     * page alone.
     */
    guard: (async (context, next) => {
      if (!isGranted(context)) return context.text('Sign in first.\n', 401);
      const isReading = context.req.method === 'GET' || context.req.method === 'HEAD';
      if (isReading || isFromOurPage(context.req.raw.headers)) return await next();
      return context.text(NOT_OUR_PAGE, 403);
    }) satisfies MiddlewareHandler,
    isGranted,
    /** Makes a code that signs in once, until then. */
    makeCode: (lifeMs: number): string => {
      const code = randomBytes(24).toString('base64url');
      codes.set(code, { untilMs: now() + lifeMs });
      dropOldest(codes, MOST_CODES);
      return code;
    },
    /**
     * Signs in with a code. A code that is used a second time was seen by somebody else, perhaps
     * the first time: whoever came with it first is signed out.
     */
    enter: (context: Context, code: string): boolean => {
      const known = codes.get(code);
      if (!known) return false;
      if (known.session !== undefined || now() > known.untilMs) {
        if (known.session !== undefined) sessions.delete(known.session);
        return false;
      }
      known.session = begin(context);
      return true;
    },
    /** Signs in with the token that was typed; says why not. */
    login: async (context: Context): Promise<'granted' | 'wrong' | 'too_slow'> => {
      if (!isFromOurPage(context.req.raw.headers)) return 'wrong';
      const form = await readForm(context);
      if (!form) return 'too_slow';
      if (token !== undefined && !isSame(form.get('token') ?? '', token)) return 'wrong';
      begin(context);
      return 'granted';
    },
  };
}

const NOT_OUR_PAGE =
  'This can only be asked on our own page. A proxy in front of it has to pass the Host header on.\n';

/** Says why something cannot be done, in a sentence for people. */
export function refused(status: 404 | 409 | 422, message: string): HTTPException {
  return new HTTPException(status, { message });
}

/** Checks what comes as JSON. @throws HTTPException 422 with what is not as expected */
export function takes<S extends z.ZodType>(schema: S) {
  return validator('json', (value: unknown): z.infer<S> => {
    const read = schema.safeParse(value);
    if (read.success) return read.data;
    const [issue] = read.error.issues;
    throw refused(
      422,
      `This is not filled in as expected: ${issue?.path.join('.')} (${issue?.message}).`,
    );
  });
}

/** What was typed into a form, by a stranger; undefined when it is too long, or does not come. */
export async function readForm({ req }: Context): Promise<URLSearchParams | undefined> {
  const reader = req.raw.body?.getReader();
  const parts: Uint8Array[] = [];
  const untilMs = performance.now() + LOGIN_MS;
  try {
    for (let size = 0; reader; ) {
      const { done, value } = await inTime(untilMs - performance.now(), reader.read());
      if (done) break;
      size += value.length;
      if (size > MOST_TOKEN_BYTES) throw new RangeError('too long');
      parts.push(value);
    }
    return new URLSearchParams(Buffer.concat(parts).toString('utf8'));
  } catch {
    void reader?.cancel().catch(() => {});
    return undefined;
  }
}

/** Takes the same time wherever two texts differ, and however long they are. */
function isSame(a: string, b: string): boolean {
  const [hashA, hashB] = [a, b].map((text) => createHash('sha256').update(text).digest());
  return hashA !== undefined && hashB !== undefined && timingSafeEqual(hashA, hashB);
}

/** How long it takes to find a hash says nothing of what was hashed. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function dropOldest<K>(entries: Set<K> | Map<K, unknown>, most: number): void {
  const [oldest] = entries.keys();
  if (entries.size > most && oldest !== undefined) entries.delete(oldest);
}

const DASHBOARD = { name: 'the dashboard', variable: 'BRANDFILL_DASHBOARD_TOKEN' };

/** An attacker could guess a shorter token in the long run. */
const SHORTEST = 16;

/**
 * Reads the token of a page, and insists on one if other machines can reach it.
 *
 * @param given the token, if a program passes it
 * @param page what it is called, and the variable that has its token otherwise
 * @returns undefined when there is none, and none is needed
 * @throws BrandfillError `INVALID_SETTING`; it never repeats the token
 */
export function readToken(
  listen: ListenAddress,
  given?: string,
  { name, variable } = DASHBOARD,
): string | undefined {
  const token = given ?? (process.env[variable]?.trim() || undefined);
  if (token === undefined) {
    if (isLocalAddress(listen.host)) return undefined;
    const local =
      name === DASHBOARD.name ? "give option 'listen' a port alone" : "leave option 'listen' out";
    throw refusal(
      `Cannot show ${name} on ${listen.host}, where others can reach it, without a token: set ${variable}, or ${local}, for this machine only.`,
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
