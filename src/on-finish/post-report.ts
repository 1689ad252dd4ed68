import pRetry from 'p-retry';
import { request } from 'undici';
import { openConnections } from '../brand/connections.ts';
import { describeNetworkError } from '../brand/network-error.ts';

export interface PostOptions {
  /** The first wait before it is tried again; each further one is twice as long. @default 1000 */
  readonly backoffMs?: number;
  /** The longest that one try may take. @default 10000 */
  readonly timeoutMs?: number;
  /** Ends all tries when it fires. @default never */
  readonly hurry?: AbortSignal | undefined;
}

const RETRIES = 3;

/**
 * Posts a text as JSON, and tries three more times when the server cannot be reached, fails (5xx)
 * or is busy (408, 429).
 *
 * @throws Error whose message says how the last try failed. The address is not in it: the address
 * of a web hook is a secret.
 */
export async function postReport(
  url: string,
  json: string,
  { backoffMs = 1_000, timeoutMs = 10_000, hurry }: PostOptions = {},
): Promise<void> {
  const dispatcher = openConnections({ origin: new URL(url).origin, connections: 1, timeoutMs });
  let tried = 0;
  const attempt = async (): Promise<void> => {
    tried += 1;
    const ends = [AbortSignal.timeout(timeoutMs), ...(hurry ? [hurry] : [])];
    const signal = AbortSignal.any(ends);
    const headers = { 'content-type': 'application/json' };
    const answer = await request(url, { method: 'POST', headers, body: json, signal, dispatcher });
    await answer.body.dump();
    if (answer.statusCode >= 300) throw new RefusedError(answer.statusCode);
  };
  try {
    await pRetry(attempt, {
      retries: RETRIES,
      minTimeout: backoffMs,
      signal: hurry,
      shouldRetry: ({ error }) => !(error instanceof RefusedError) || error.mayPass,
    });
  } catch (error) {
    const why = hurry?.aborted ? 'no answer in time after an interruption' : describe(error);
    throw new Error(`${why} (tried ${tried === 1 ? 'once' : `${tried} times`})`, {
      cause: error,
    });
  } finally {
    // Not `close`, which would wait for a server that does not answer.
    await dispatcher.destroy();
  }
}

/** The server answered, but refused the text. */
class RefusedError extends Error {
  readonly mayPass: boolean;

  constructor(status: number) {
    super(
      status < 400
        ? `it answered ${status}, a redirect; give the address that it leads to`
        : `it answered ${status}`,
    );
    this.mayPass = status >= 500 || status === 408 || status === 429;
  }
}

function describe(error: unknown): string {
  if (error instanceof RefusedError) return error.message;
  const isTimeout = error instanceof Error && error.name === 'TimeoutError';
  return (isTimeout ? 'timeout' : describeNetworkError(error)).replaceAll('_', ' ');
}
