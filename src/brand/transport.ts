import type { Dispatcher } from 'undici';
import { systemErrorCode } from '../common/errors.ts';
import { type ConnectionsOptions, type Line, openConnections } from './connections.ts';
import type { Deadline } from './deadline.ts';
import { type Exchanged, type ExchangeRequest, exchange } from './exchange.ts';
import {
  InvalidHttpError,
  type LenientConnections,
  openLenientConnections,
} from './lenient-http.ts';
import { findProxy } from './proxy.ts';

/**
 * Carries calls to one API, and puts up with the servers that people have. A call goes over a
 * connection that is kept, until the API shows that
 *
 * - it resets connections that were used before: such a call is made once more over a connection of
 *   its own, and after a few of them every call gets its own for a while;
 * - its answers are no strict HTTP: such a call is made once more with a reader that is not strict,
 *   which all later calls use at once.
 *
 * So one call makes two requests at most. The second is the same call: to the first there was no
 * answer, or none that could be read.
 */
export interface Transport {
  /**
   * Makes one GET request, within one deadline.
   *
   * @throws what `exchange` throws, and `InvalidHttpError` for an answer that is no HTTP
   */
  exchange(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged>;
  /** Closes all connections. */
  close(): Promise<void>;
}

export interface TransportOptions extends ConnectionsOptions {
  /** Milliseconds since any moment. @default performance.now */
  readonly now?: () => number;
}

/**
 * A stale connection counts as much as this many calls over used connections that were answered.
 * Where fewer than three such calls in four go well, keeping connections does not pay.
 */
const STALE_WEIGHT = 4;
/** From here on every call gets its own connection. A few stale ones are part of any long run. */
const MOST_STALE = 5 * STALE_WEIGHT;
/** After this time connections are kept again: a server that was restarted resets all of them. */
const SEPARATE_MS = 10 * 60_000;

/**
 * Opens connections to an API, through the proxy that the environment names, if any.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
export function openTransport({
  now = () => performance.now(),
  ...options
}: TransportOptions): Transport {
  const kept = openConnections(options);
  const hasProxy = findProxy(options.origin) !== undefined;
  let separate: Dispatcher | undefined;
  let lenient: LenientConnections | undefined;
  let staleScore = 0;
  let separateUntilMs = Number.NEGATIVE_INFINITY;

  async function overKept(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged> {
    const trace = createTrace();
    try {
      const exchanged = await exchange(kept, { ...request, onLine: trace.onLine }, deadline);
      if (trace.wasUsed) staleScore = Math.max(0, staleScore - 1);
      return exchanged;
    } catch (error) {
      if (!trace.isStale(error)) throw trace.alert ?? error;
      staleScore += STALE_WEIGHT;
      if (staleScore >= MOST_STALE) {
        separateUntilMs = now() + SEPARATE_MS;
        staleScore = MOST_STALE - STALE_WEIGHT; // then one more shows that nothing has changed
      }
      return await overSeparate(request, deadline);
    }
  }

  /** Makes a call over a connection that no other call has used or will use. */
  function overSeparate(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged> {
    separate ??= openConnections(options);
    return exchange(separate, { ...request, reset: true }, deadline);
  }

  async function strictly(request: ExchangeRequest, deadline: Deadline): Promise<Exchanged> {
    return now() < separateUntilMs
      ? await overSeparate(request, deadline)
      : await overKept(request, deadline);
  }

  return {
    async exchange(request, deadline) {
      if (lenient) return await exchange(lenient, request, deadline);
      try {
        const exchanged = await strictly(request, deadline);
        if (hasProxy || !isUnparsable(exchanged.bodyError)) return exchanged;
      } catch (error) {
        if (!isUnparsable(error) && !isMismatch(error)) throw error;
        if (hasProxy) throw new InvalidHttpError(error.message, { cause: error });
      }
      lenient ??= openLenientConnections(options);
      return await exchange(lenient, request, deadline);
    },
    async close() {
      await Promise.all([kept.destroy(), separate?.destroy(), lenient?.destroy()]);
    },
  };
}

interface Trace {
  /** What TLS reported on its connection, which says more than that it was closed. */
  readonly alert: Error | undefined;
  readonly onLine: (line: Line) => void;
  /** Whether the connection of a call that has ended had been used before. */
  readonly wasUsed: boolean;
  /**
   * Whether an error broke a connection that had been used before, and no byte of an answer had
   * come: the server closed it while the call was on its way.
   */
  isStale(error: unknown): boolean;
}

/** Watches the connection of one call. */
function createTrace(): Trace {
  let line: Line | undefined;
  let socket: Line['socket'];
  let bytesBefore = 0;
  // The line opens another connection for the call when the one it had is closed.
  const wasUsed = (): boolean =>
    line !== undefined &&
    socket !== undefined &&
    socket === line.socket &&
    bytesBefore > line.openingBytes;
  return {
    onLine: (given) => {
      line = given;
      ({ socket } = given);
      bytesBefore = socket?.bytesRead ?? 0;
    },
    get alert() {
      return line?.alert;
    },
    get wasUsed() {
      return wasUsed();
    },
    isStale: (error) =>
      /^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/.test(systemErrorCode(error) ?? '') &&
      wasUsed() &&
      socket?.bytesRead === bytesBefore,
  };
}

/**
 * Whether undici's parser refused an answer; for a 100 that nobody asked for it says `bad
 * response`. A body that only ended too early is another matter.
 */
function isUnparsable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  if (error.name === 'HTTPParserError') return !error.message.includes('EOF');
  return /^bad (response|upgrade)$/.test(error.message);
}

/**
 * Whether the error is how undici's parser refuses a Content-Length beside a Transfer-Encoding, or
 * one that is no number. When there is a body already, it means that this was cut off.
 */
function isMismatch(error: unknown): error is Error {
  return systemErrorCode(error) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH';
}
