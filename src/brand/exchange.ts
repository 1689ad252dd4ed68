import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type Gunzip,
  type Inflate,
} from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Deadline } from './deadline.ts';

/** A response, with as much of its body as was wanted. */
export interface Exchanged {
  readonly httpStatus: number;
  /** Names in lower case. */
  readonly headers: ResponseHeaders;
  /** The body, unpacked. */
  readonly bytes: Buffer;
  /** Whether there was more of it. */
  readonly isCut: boolean;
  /** What broke the body off, or kept it from being unpacked; undefined when it came as it should. */
  readonly bodyError: Error | undefined;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * How much of the body to read, in bytes after unpacking. Beyond that the connection is closed, so it
   * is to be enough for what is only read to use the connection again.
   */
  readonly mostBytes: (httpStatus: number, headers: ResponseHeaders) => number;
}

/**
 * What servers are asked to pack bodies with. Not with `deflate`, though it is unpacked: many send it raw,
 * without the header that it is to have (RFC 9110, 8.4.1.2).
 */
export const ACCEPTED_ENCODINGS = 'gzip, br';

/** The time of a call was up, or its caller gave up. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
}

/**
 * Makes one GET request and reads the body as far as it is wanted: the body is taken from undici as it
 * comes, without a stream, a signal and its listeners for each call.
 *
 * @throws GivenUpError when the deadline is over before there is a response
 * @throws whatever kept the response from coming; a body that breaks off, or takes too long, is no error
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path, headers, mostBytes }: ExchangeRequest,
  deadline: Deadline,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader(mostBytes, resolve, reject);
    deadline.onOver = () => reader.giveUp();
    if (deadline.isOver) reader.giveUp();
    else dispatcher.dispatch({ origin, path, headers, method: 'GET' }, reader);
  });
}

/** Whether a body is packed in a way that is undone here. */
export function isPacked(headers: ResponseHeaders): boolean {
  return UNPACKERS.has(encodingOf(headers));
}

type Unpacker = Gunzip | BrotliDecompress | Inflate;

const UNPACKERS: ReadonlyMap<string, () => Unpacker> = new Map<string, () => Unpacker>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

function encodingOf({ 'content-encoding': encoding }: ResponseHeaders): string {
  return encoding === undefined ? 'identity' : String(encoding).toLowerCase();
}

const NO_HEADERS: ResponseHeaders = {};

/** Takes one response from undici. */
class ResponseReader implements Dispatcher.DispatchHandler {
  readonly #mostBytes: ExchangeRequest['mostBytes'];
  #resolve: (exchanged: Exchanged) => void;
  #reject: (error: Error) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #httpStatus = 0;
  #headers = NO_HEADERS;
  #most = 0;
  #unpacker: Unpacker | undefined;
  readonly #chunks: Buffer[] = [];
  #sizeBytes = 0;
  #isSettled = false;

  constructor(
    mostBytes: ExchangeRequest['mostBytes'],
    resolve: (exchanged: Exchanged) => void,
    reject: (error: Error) => void,
  ) {
    this.#mostBytes = mostBytes;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  giveUp(): void {
    this.#end(new GivenUpError('the call was given up'));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // Undici heeds nobody before there is a connection.
    if (this.#isSettled) this.#drop();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    httpStatus: number,
    headers: ResponseHeaders,
  ): void {
    if (httpStatus < 200) return;
    this.#httpStatus = httpStatus;
    this.#headers = headers;
    this.#most = this.#mostBytes(httpStatus, headers);
    const unpacker = UNPACKERS.get(encodingOf(headers))?.();
    if (!unpacker) return;
    this.#unpacker = unpacker;
    unpacker.on('data', (bytes: Buffer) => this.#keep(bytes));
    unpacker.on('end', () => this.#settle(undefined));
    unpacker.on('error', (error) => this.#settle(error));
    unpacker.on('drain', () => controller.resume());
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    if (!this.#unpacker) this.#keep(bytes);
    else if (!this.#unpacker.write(bytes)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.#unpacker) this.#unpacker.end();
    else this.#settle(undefined);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#end(error);
  }

  #keep(bytes: Buffer): void {
    if (this.#isSettled) return;
    this.#chunks.push(bytes);
    this.#sizeBytes += bytes.length;
    if (this.#sizeBytes > this.#most) this.#settle(undefined);
  }

  #settle(bodyError: Error | undefined): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    const isCut = this.#sizeBytes > this.#most;
    const [first = NOTHING] = this.#chunks;
    const whole = this.#chunks.length <= 1 ? first : Buffer.concat(this.#chunks);
    const bytes = isCut ? whole.subarray(0, this.#most) : whole;
    if (isCut || bodyError) this.#drop();
    const [httpStatus, headers] = [this.#httpStatus, this.#headers];
    this.#resolve({ httpStatus, headers, bytes, isCut, bodyError });
    this.#letGo();
  }

  /** What came so far is still worth having. */
  #end(error: Error): void {
    if (this.#httpStatus !== 0) return this.#settle(error);
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#drop();
    this.#reject(error);
    this.#letGo();
  }

  /** This object is reachable for many more calls; what it held would survive as long. */
  #letGo(): void {
    this.#controller = undefined;
    this.#headers = NO_HEADERS;
    this.#chunks.length = 0;
    this.#resolve = ignore;
    this.#reject = ignore;
  }

  /** Lets the connection go, and all that is still to come. */
  #drop(): void {
    this.#unpacker?.destroy();
    this.#controller?.abort(new GivenUpError('nobody reads on'));
  }
}

const NOTHING = Buffer.alloc(0);

function ignore(): void {}
