import { maxHeaderSize } from 'node:http';
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Dispatcher } from 'undici';
import { attemptTimeoutMs } from './connections.ts';

/**
 * An answer came that is no HTTP, or HTTP that nobody can read safely. The message says in a few
 * words what is wrong with it.
 */
export class InvalidHttpError extends Error {
  override readonly name = 'InvalidHttpError';
  readonly code: string;

  constructor(message: string, { code = 'INVALID_HTTP', ...options }: InvalidHttpOptions = {}) {
    super(message, options);
    this.code = code;
  }
}

interface InvalidHttpOptions extends ErrorOptions {
  readonly code?: 'INVALID_HTTP' | 'HTTP2_ONLY';
}

export interface LenientOptions {
  /** Scheme, host and port. */
  readonly origin: string;
  readonly timeoutMs: number;
}

/** Makes requests as a dispatcher of undici does, as far as `exchange` needs one. */
export interface LenientConnections extends Pick<Dispatcher, 'dispatch'> {
  destroy(): Promise<void>;
}

/**
 * Reads answers that undici's parser refuses, as browsers and curl do: lines that end in a line
 * feed alone, header names with spaces, lines without a colon, a Content-Length beside a
 * Transfer-Encoding (RFC 9112, 6.3: the latter counts) or given several times with one value, a 100
 * that nobody asked for. Each call has a connection of its own, so a wrong end of one answer cannot
 * be taken for the begin of another.
 */
export function openLenientConnections({ origin, timeoutMs }: LenientOptions): LenientConnections {
  const { protocol, hostname, host, port } = new URL(origin);
  const bare = hostname.replace(/^\[|\]$/g, '');
  const isTls = protocol === 'https:';
  const to = {
    host: bare,
    port: Number(port) || (isTls ? 443 : 80),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: attemptTimeoutMs(timeoutMs),
  };
  const open = new Set<Socket>();

  function connect(): Socket {
    if (!isTls) return connectTcp(to);
    const servername = isIP(bare) === 0 ? bare : '';
    return connectTls({ ...to, servername, ALPNProtocols: ['http/1.1'] });
  }

  return {
    dispatch(request, handler) {
      const socket = connect().setNoDelay(true);
      open.add(socket);
      const call = new LenientCall(socket, handler);
      socket.on('close', () => open.delete(socket));
      socket.write(headOf(request, host), 'latin1');
      if (typeof request.body === 'string') socket.write(request.body);
      call.start();
      return true;
    },
    destroy: async () => {
      for (const socket of open) socket.destroy(new Error('closed'));
    },
  };
}

function headOf({ method, path, headers, body }: Dispatcher.DispatchOptions, host: string): string {
  const fields = {
    host,
    connection: 'close',
    ...(headers as Readonly<Record<string, string>>),
    ...(typeof body === 'string' ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}

/**
 * Where in an answer a call is. It goes from `head` to one of the ways in which a body ends, and to
 * `over` in the end; chunks go in a circle of `size`, `chunk` and `chunk_end`, then to `trailers`.
 */
type Place = 'head' | 'length' | 'close' | 'size' | 'chunk' | 'chunk_end' | 'trailers' | 'over';

/** Reads one answer and reports it to a handler. */
class LenientCall implements Dispatcher.DispatchController {
  readonly #socket: Socket;
  readonly #handler: Dispatcher.DispatchHandler;
  #place: Place = 'head';
  #bytes: Buffer = Buffer.alloc(0);
  /** How much of the body or the chunk is still to come. */
  #leftBytes = 0;
  #reason: Error | null = null;

  constructor(socket: Socket, handler: Dispatcher.DispatchHandler) {
    this.#socket = socket;
    this.#handler = handler;
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get paused(): boolean {
    return this.#socket.isPaused();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  abort(reason: Error): void {
    this.#reason = reason;
    this.#fail(reason);
  }

  start(): void {
    this.#socket
      .on('data', (bytes: Buffer) => this.#take(bytes))
      .on('end', () => this.#end())
      .on('error', (error) => this.#fail(error))
      .on('close', () => this.#end());
    this.#handler.onRequestStart?.(this, undefined);
  }

  #take(bytes: Buffer): void {
    if (this.#place === 'over') return;
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    try {
      while (this.#step());
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Takes one part of the answer. False when its bytes are not all there. */
  #step(): boolean {
    switch (this.#place) {
      case 'head':
        return this.#readHead();
      case 'size':
        return this.#readSize();
      case 'chunk_end':
        return this.#readLine() !== undefined && this.#goTo('size');
      case 'trailers': {
        const line = this.#readLine();
        if (line === '') this.#finish();
        return line !== undefined && line !== '';
      }
      case 'length':
      case 'chunk':
      case 'close':
        return this.#readBody();
      case 'over':
        return false;
    }
  }

  #goTo(place: Place): true {
    this.#place = place;
    return true;
  }

  #readHead(): boolean {
    const text = this.#bytes.toString('latin1', 0, maxHeaderSize + 1);
    const begin = text.search(/[^\r\n]/);
    if (begin === -1) return false;
    checkBegin(this.#bytes.subarray(begin));
    const [end] = /\r?\n\r?\n/.exec(text.slice(begin)) ?? [];
    if (end === undefined) {
      if (text.length <= maxHeaderSize) return false;
      throw Object.assign(new Error('the headers are too long'), { code: 'HPE_HEADER_OVERFLOW' });
    }
    const length = text.slice(begin).indexOf(end);
    const head = text.slice(begin, begin + length);
    this.#bytes = this.#bytes.subarray(begin + length + end.length);
    const [, status] = /^HTTP\/\d(?:\.\d)?[ \t]+(\d{3})(?![^\s])/i.exec(head) ?? [];
    if (status === undefined) throw new InvalidHttpError(`a status line ${quote(head)}`);
    const httpStatus = Number(status);
    if (httpStatus === 101) throw new InvalidHttpError('a change of protocol without being asked');
    if (httpStatus < 200) return true;
    const headers = fieldsOf(head);
    const [place, leftBytes] = bodyOf(httpStatus, headers);
    this.#place = place;
    this.#leftBytes = leftBytes;
    if (place !== 'length') delete headers['content-length'];
    this.#handler.onResponseStart?.(this, httpStatus, headers);
    if (place === 'length' && leftBytes === 0) this.#finish();
    return true;
  }

  #readSize(): boolean {
    const line = this.#readLine();
    if (line === undefined) return false;
    const [, digits] = /^\s*([\da-f]{1,12})\s*(?:;.*)?$/i.exec(line) ?? [];
    if (digits === undefined) throw new InvalidHttpError(`a chunk of the size ${quote(line)}`);
    this.#leftBytes = Number.parseInt(digits, 16);
    return this.#goTo(this.#leftBytes === 0 ? 'trailers' : 'chunk');
  }

  #readBody(): boolean {
    const isBounded = this.#place !== 'close';
    const part = isBounded ? this.#bytes.subarray(0, this.#leftBytes) : this.#bytes;
    if (part.length === 0) return false;
    this.#bytes = this.#bytes.subarray(part.length);
    this.#leftBytes -= isBounded ? part.length : 0;
    this.#handler.onResponseData?.(this, part);
    if (isBounded && this.#leftBytes === 0) {
      if (this.#place === 'chunk') this.#goTo('chunk_end');
      else this.#finish();
    }
    return this.#place !== 'close';
  }

  /** Takes a line off, without its end; undefined when it is not there as a whole. */
  #readLine(): string | undefined {
    const end = this.#bytes.indexOf('\n');
    if (end === -1 && this.#bytes.length > maxHeaderSize) {
      throw new InvalidHttpError('a line without an end among its chunks');
    }
    if (end === -1) return undefined;
    const line = this.#bytes.toString('latin1', 0, end).replace(/\r$/, '');
    this.#bytes = this.#bytes.subarray(end + 1);
    return line;
  }

  /** The server has sent all that it sends. */
  #end(): void {
    // The last line after the chunks is left out by some.
    if (this.#place === 'close' || this.#place === 'trailers') this.#finish();
    else this.#fail(Object.assign(new Error('other side closed'), { code: 'ECONNRESET' }));
  }

  #finish(): void {
    if (this.#place === 'over') return;
    this.#place = 'over';
    this.#socket.destroy();
    this.#handler.onResponseEnd?.(this, {});
  }

  #fail(error: Error): void {
    if (this.#place === 'over') return;
    this.#place = 'over';
    this.#socket.destroy();
    this.#handler.onResponseError?.(this, error);
  }
}

/** @throws InvalidHttpError when the first bytes of an answer are no HTTP/1 */
function checkBegin(bytes: Buffer): void {
  const begin = bytes.toString('latin1', 0, 5);
  if ('HTTP/'.startsWith(begin.toUpperCase())) return;
  // A frame of HTTP/2: three bytes of length, then SETTINGS (4) or GOAWAY (7).
  if (bytes[0] === 0 && bytes.length < 4) return;
  if (bytes[0] === 0 && (bytes[3] === 4 || bytes[3] === 7)) {
    throw new InvalidHttpError('HTTP/2', { code: 'HTTP2_ONLY' });
  }
  const [line = ''] = bytes.toString('latin1', 0, 80).split(/\r?\n/);
  throw new InvalidHttpError(
    bytes[0] === 0x15 || bytes[0] === 0x16 ? 'TLS' : `no HTTP: ${quote(line)}`,
  );
}

/** The fields of a head. A line without a colon is none. */
function fieldsOf(head: string): Record<string, string | string[]> {
  const fields: Record<string, string | string[]> = {};
  // A line that begins with a space goes on with the one before.
  const [, ...lines] = head.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/);
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1) continue;
    const name = line.slice(0, colon).trim().toLowerCase();
    const value = line.slice(colon + 1).trim();
    const before = Object.hasOwn(fields, name) ? fields[name] : undefined;
    fields[name] = before === undefined ? value : [before, value].flat();
  }
  return fields;
}

/** How the body of an answer ends, and its length. @throws InvalidHttpError when that is not clear */
function bodyOf(
  httpStatus: number,
  fields: Readonly<Record<string, string | string[]>>,
): readonly [Place, number] {
  if (httpStatus === 204 || httpStatus === 304) return ['length', 0];
  const codings = valuesOf(fields['transfer-encoding'])
    .map((coding) => coding.toLowerCase())
    .filter((coding) => coding !== 'identity');
  if (codings.length > 0) {
    // Other codings than `chunked` are undone by who reads the body.
    return [codings.at(-1) === 'chunked' ? 'size' : 'close', 0];
  }
  const lengths = new Set(valuesOf(fields['content-length']));
  const [length] = lengths;
  if (length === undefined) return ['close', 0];
  if (lengths.size > 1 || !/^\d{1,15}$/.test(length)) {
    throw new InvalidHttpError(`Content-Length: ${quote([...lengths].join(', '))}`);
  }
  return ['length', Number(length)];
}

function valuesOf(field: string | string[] | undefined): readonly string[] {
  return [field ?? []]
    .flat()
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '');
}

function quote(text: string): string {
  const [line = ''] = text.split(/\r?\n/);
  return `'${line.slice(0, 60).replaceAll(/[^ -~]/g, '.')}'`;
}
