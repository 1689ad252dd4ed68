import {
  type BrotliDecompress,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  type Gunzip,
  type Inflate,
} from 'node:zlib';
import type { Dispatcher } from 'undici';
import type { Trace } from './connections.ts';

/** A response, with as much of its body as was asked for. */
export interface Exchanged {
  readonly httpStatus: number;
  /** Header names are in lower case. */
  readonly headers: ResponseHeaders;
  /** The body, decompressed. */
  readonly bytes: Buffer;
  /** Whether the body was longer than `bytes`. */
  readonly isCut: boolean;
  /**
   * The error that broke the body off or failed its decompression; undefined when it is complete.
   */
  readonly bodyError: Error | undefined;
}

export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

export interface ExchangeRequest {
  readonly origin: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** @default GET */
  readonly method?: 'GET' | 'POST';
  /** @default no body */
  readonly body?: string | undefined;
  /**
   * How much of the body to read, in bytes after decompression. Past that the connection is closed.
   * So a body that is read only to keep its connection needs a limit that it does not reach.
   */
  readonly mostBytes: (httpStatus: number, headers: ResponseHeaders) => number;
}

export interface ExchangeOptions {
  /** Watches the connection. @default nobody does */
  readonly trace?: Trace;
  /** Whether the connection is closed after it. @default false */
  readonly isLast?: boolean;
}

/**
 * The encodings that servers are asked for. `deflate` is decoded but not asked for: many servers
 * send it without the zlib header that RFC 9110, 8.4.1.2 requires.
 */
export const ACCEPTED_ENCODINGS = 'gzip, br';

/** The deadline of a call was over, or its caller gave it up. */
export class GivenUpError extends Error {
  override readonly name = 'GivenUpError';
}

/**
 * Makes one request and reads the body as far as it is asked for. The body is taken from undici
 * as it arrives, which spares a stream, a signal and its listeners for each call.
 *
 * @throws GivenUpError when the deadline is over before there is a response
 * @throws the error that kept the response from coming. A body that breaks off or takes too long is
 *   reported in `bodyError` instead.
 */
export function exchange(
  dispatcher: Pick<Dispatcher, 'dispatch'>,
  { origin, path, headers, mostBytes, method = 'GET', body }: ExchangeRequest,
  deadline: Deadline,
  { trace, isLast = false }: ExchangeOptions = {},
): Promise<Exchanged> {
  const request = { method, origin, path, headers, body: body ?? null, trace, reset: isLast };
  return new Promise((resolve, reject) => {
    const reader = new ResponseReader(mostBytes, resolve, reject);
    deadline.onOver = () => reader.giveUp();
    if (deadline.isOver) reader.giveUp();
    else dispatcher.dispatch(request, reader);
  });
}

/** Whether a body has an encoding that can be decoded here. */
export function isPacked(headers: ResponseHeaders): boolean {
  const codings = codingsOf(headers);
  return codings.length > 0 && codings.every((coding) => UNPACKERS.has(coding));
}

/** Whether a body has an encoding that cannot be decoded here. Its bytes are as they came. */
export function isPackedStrangely(headers: ResponseHeaders): boolean {
  return codingsOf(headers).length > 0 && !isPacked(headers);
}

type Unpacker = Gunzip | BrotliDecompress | Inflate;

const UNPACKERS: ReadonlyMap<string, () => Unpacker> = new Map<string, () => Unpacker>([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

/**
 * The encodings of a body in the order in which they were applied. One of the transfer, which is
 * rare, is undone like one of the content.
 */
function codingsOf({
  'content-encoding': ofContent,
  'transfer-encoding': ofTransfer,
}: ResponseHeaders): readonly string[] {
  if (ofContent === undefined && (ofTransfer === undefined || ofTransfer === 'chunked')) return [];
  return [ofContent ?? [], ofTransfer ?? []]
    .flat()
    .flatMap((value) => value.toLowerCase().split(','))
    .map((coding) => coding.trim())
    .filter((coding) => coding !== '' && coding !== 'identity' && coding !== 'chunked');
}

/** Makes what undoes the encodings of a body, the last one first. None for a strange one. */
function unpackersFor(headers: ResponseHeaders): readonly Unpacker[] {
  const made = codingsOf(headers).map((coding) => UNPACKERS.get(coding));
  const unpackers: Unpacker[] = [];
  for (const make of made.toReversed()) {
    if (!make) return [];
    unpackers.push(make());
  }
  return unpackers;
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
  #unpackers: readonly Unpacker[] = [];
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
    // Undici ignores an abort before there is a connection.
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
    this.#unpackers = unpackersFor(headers);
    this.#unpackers[0]?.on('drain', () => controller.resume());
    for (const [at, unpacker] of this.#unpackers.entries()) {
      unpacker.on('error', (error) => this.#settle(error));
      const next = this.#unpackers[at + 1];
      if (next) unpacker.pipe(next);
      else unpacker.on('data', (bytes: Buffer) => this.#keep(bytes));
    }
    this.#unpackers.at(-1)?.on('end', () => this.#settle(undefined));
  }

  onResponseData(controller: Dispatcher.DispatchController, bytes: Buffer): void {
    const [unpacker] = this.#unpackers;
    if (!unpacker) this.#keep(bytes);
    else if (!unpacker.write(bytes)) controller.pause();
  }

  onResponseEnd(): void {
    const [unpacker] = this.#unpackers;
    if (unpacker) unpacker.end();
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

  /** Ends with an error. If the response has begun, what came so far is returned. */
  #end(error: Error): void {
    if (this.#httpStatus !== 0) return this.#settle(error);
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#drop();
    this.#reject(error);
    this.#letGo();
  }

  /**
   * Drops references. This object stays reachable for many more calls, and with it all that it
   * holds.
   */
  #letGo(): void {
    this.#controller = undefined;
    this.#headers = NO_HEADERS;
    this.#chunks.length = 0;
    this.#resolve = ignore;
    this.#reject = ignore;
  }

  /** Closes the connection and ignores the rest of the body. */
  #drop(): void {
    for (const unpacker of this.#unpackers) unpacker.destroy();
    this.#controller?.abort(new GivenUpError('nobody reads on'));
  }
}

const NOTHING = Buffer.alloc(0);

function ignore(): void {}

/** Bounds one call in time. Must not be used after `clear`. */
export interface Deadline {
  /** Whether the time is up or the parent signal has fired. */
  readonly isOver: boolean;
  /**
   * Called once, when the deadline is over. The work under it sets this to a function that stops
   * it.
   */
  onOver: (() => void) | undefined;
  /** Must be called when the work is done. */
  readonly clear: () => void;
}

/** Bounds calls in time. */
export interface Deadlines {
  /** Starts the time of one call. The deadline also ends when `parent` fires. */
  start(parent: AbortSignal): Deadline;
}

interface Alarm {
  isOver: boolean;
  /** Its timer has fired. */
  isDue: boolean;
  onOver: (() => void) | undefined;
  /** All alarms with the same parent. */
  group: Set<Alarm>;
  readonly timer: NodeJS.Timeout;
  readonly clear: () => void;
}

/**
 * Creates deadlines that leave nothing behind and cost little. At thousands of calls per second the
 * timers of `AbortSignal.timeout` pile up. A controller, a timer and a listener for each call cost
 * half as much as the call. So alarms that never went off are reused, and each parent has one
 * listener.
 */
export function createDeadlines(timeoutMs: number): Deadlines {
  const idle: Alarm[] = [];
  const running = new Map<AbortSignal, Set<Alarm>>();

  function groupUnder(parent: AbortSignal): Set<Alarm> {
    const known = running.get(parent);
    if (known) return known;
    const group = new Set<Alarm>();
    running.set(parent, group);
    parent.addEventListener('abort', () => {
      running.delete(parent);
      for (const alarm of group) ring(alarm);
    });
    return group;
  }

  /**
   * Reads the connections before the alarm goes off. When a process was frozen for longer than a
   * call may take (a laptop that slept, a container that was paused), its timers are due before it
   * has read the answers that lie in its connections.
   */
  function ringAfterReading(alarm: Alarm): void {
    alarm.isDue = true;
    setImmediate(() => {
      if (alarm.isDue) ring(alarm);
    });
  }

  function ring(alarm: Alarm): void {
    if (alarm.isOver) return;
    alarm.isOver = true;
    alarm.onOver?.();
  }

  function clear(alarm: Alarm): void {
    alarm.group.delete(alarm);
    alarm.onOver = undefined;
    if (alarm.isOver) clearTimeout(alarm.timer);
    else idle.push(alarm);
  }

  function takeAlarm(group: Set<Alarm>): Alarm {
    let alarm = idle.pop();
    // An alarm that stayed idle until its timer fired cannot be used again.
    while (alarm?.isOver) alarm = idle.pop();
    if (!alarm) return createAlarm(group);
    alarm.timer.refresh();
    alarm.isDue = false;
    alarm.group = group;
    return alarm;
  }

  function createAlarm(group: Set<Alarm>): Alarm {
    const alarm: Alarm = {
      isOver: false,
      isDue: false,
      onOver: undefined,
      group,
      // Open connections keep the process alive during a call; an idle alarm must not.
      timer: setTimeout(() => ringAfterReading(alarm), timeoutMs).unref(),
      clear: () => clear(alarm),
    };
    return alarm;
  }

  return {
    start: (parent) => {
      // One that has fired calls no listener, so its group would never be forgotten.
      const group = parent.aborted ? new Set<Alarm>() : groupUnder(parent);
      const alarm = takeAlarm(group);
      group.add(alarm);
      if (parent.aborted) ring(alarm);
      return alarm;
    },
  };
}
