import {
  type IncomingMessage,
  type ServerResponse,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { gzipSync } from 'node:zlib';
import { createBrandAnswer, draw, purposes } from './brand-answer.ts';
import type { SandboxAnswer, SandboxOptions, SandboxReply } from './options.ts';

/** The properties of a call that its answer depends on. */
export interface Asked {
  domain: string;
  /** The hash of the domain. */
  hash: number;
  /** The number of the call among those for its domain. */
  ordinal: number;
  /** The host by which the caller has reached the sandbox. */
  host: string | undefined;
}

/** Decides the answer to a call. */
export type Replies = (asked: Asked) => SandboxReply;

/**
 * Create the function that decides the answers: `respond` first, then faults, then missing
 * domains, then found ones.
 */
export function createReplies(options: SandboxOptions): Replies {
  const { errors = 0, broken = 0, notFound = 0, logos = false } = options;
  const faults = createFaults(errors, broken);
  return ({ host, domain, hash, ordinal }) => {
    const special = callRespond(options, domain, ordinal) ?? faults?.(hash, ordinal);
    if (special !== undefined) return special;
    if (options.api) return options.api.reply(domain, ordinal);
    if (notFound > 0 && draw(hash, purposes.notFound) < notFound) return unknownDomain;
    const logoFolder = logos ? `http://${host}/logos` : undefined;
    return { body: createBrandAnswer(domain, hash, logoFolder) };
  };
}

/**
 * Guards `respond`: if it throws, or returns what cannot be sent, the process would end and the call
 * would stay open.
 */
function callRespond(
  { respond }: SandboxOptions,
  domain: string,
  ordinal: number,
): SandboxReply | undefined {
  try {
    const reply = respond?.(domain, ordinal) ?? undefined;
    return reply === undefined ? undefined : toSendable(reply);
  } catch (error) {
    return { status: 500, body: { error: { code: 'respond_threw', message: String(error) } } };
  }
}

const unknownDomain: SandboxReply = {
  status: 404,
  body: { error: { code: 'not_found', message: 'Nothing is known about this domain.' } },
};

/**
 * A scripted reply with its body as text or bytes. What HTTP cannot carry is refused here, where the script is
 * called: when it is sent it would end the process that has the sandbox.
 *
 * @throws Error that says what is wrong with the reply
 */
function toSendable(reply: SandboxReply): SandboxReply {
  if (reply === 'reset' || reply === 'hang') return reply;
  if (typeof reply !== 'object' || reply instanceof Promise) {
    throw new TypeError(`expected an answer, 'reset' or 'hang', received ${describe(reply)}`);
  }
  const { status = 200, headers = {}, body, raw } = reply;
  if (raw !== undefined && typeof raw !== 'string') {
    throw new TypeError(`expected raw as a text, received a ${typeof raw}`);
  }
  if (!Number.isInteger(status) || status < 200 || status > 999) {
    throw new RangeError(`expected a status from 200 to 999, received ${String(status)}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return body === undefined ? reply : { ...reply, body: textOf(body) };
}

function describe(reply: unknown): string {
  return reply instanceof Promise ? 'a promise' : `a ${typeof reply}`;
}

function textOf(body: Exclude<SandboxAnswer['body'], undefined>): string | Uint8Array {
  if (body instanceof Uint8Array) return body;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (text === undefined)
    throw new TypeError(`expected a body for JSON, received a ${typeof body}`);
  return text;
}

/** Decides how a call goes wrong; `undefined` when it does not. */
type Faults = (hash: number, ordinal: number) => SandboxReply | undefined;

/**
 * Create the faults of the sandbox, or `undefined` for none.
 *
 * @param errors share of the calls that end in a server fault
 * @param broken share of the calls whose answer is unusable
 */
function createFaults(errors: number, broken: number): Faults | undefined {
  if (errors === 0 && broken === 0) return undefined;
  return (hash, ordinal) => {
    const share = draw(hash, purposes.fault, ordinal);
    if (share >= errors + broken) return undefined;
    return pick(
      share < errors ? serverFaults : brokenAnswers,
      draw(hash, purposes.faultKind, ordinal),
    );
  };
}

/**
 * Faults as they occur in practice: the service itself speaks JSON, the gateway in front of it does
 * not.
 */
const serverFaults: readonly SandboxReply[] = [
  {
    status: 500,
    body: { error: { code: 'internal', message: 'Something went wrong on our side.' } },
  },
  {
    status: 502,
    headers: { 'Content-Type': 'text/html' },
    body: '<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>',
  },
  { status: 503, body: { error: { code: 'unavailable', message: 'Temporarily unavailable.' } } },
];

const brokenAnswers: readonly SandboxReply[] = [
  { body: '{"name":"Cut","description":"This JSON stops in the middle of a te', broken: true },
  { body: '<!doctype html><title>Maintenance</title><p>Back soon.</p>', broken: true },
  { body: '', broken: true },
  {
    body: { name: 'Cut', description: 'The connection closes within this answer.' },
    breakOff: true,
  },
  'reset',
];

function pick<T>(list: readonly T[], share: number): T | undefined {
  return list[Math.floor(share * list.length)];
}

/** The parts of an answer that go over the wire. */
export interface Message {
  status: number;
  headers?: Readonly<Record<string, string>> | undefined;
  body: string | Uint8Array;
  /** Close the connection after half of the body. */
  breakOff?: boolean;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Send an answer, compressed only if `gzip` is set and the client accepts it. */
export function send(
  request: IncomingMessage,
  response: ServerResponse,
  message: Message,
  gzip = false,
): void {
  const packed = gzip && acceptsGzip(request) ? gzipSync(message.body) : undefined;
  const size = packed?.length ?? Buffer.byteLength(message.body);
  const headers: string[] = [];
  // No content: neither a length nor a type of it (RFC 9110, section 8.6).
  const hasContent = message.status !== 204 && message.status !== 304;
  if (hasContent && !hasHeader(message.headers, 'content-length')) {
    headers.push('Content-Length', String(size));
  }
  if (message.headers !== undefined) {
    for (const [name, value] of Object.entries(message.headers)) headers.push(name, value);
  }
  if (hasContent && !hasHeader(message.headers, 'content-type'))
    headers.push('Content-Type', JSON_TYPE);
  if (packed !== undefined) headers.push('Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding');
  response.writeHead(message.status, headers);
  if (message.breakOff === true) {
    const bytes = packed ?? Buffer.from(message.body);
    response.write(bytes.subarray(0, size >> 1), () => response.destroy());
    return;
  }
  response.end(packed ?? message.body);
}

/** Send an error as JSON: `{"error":{"code":…,"message":…}}`. */
export function sendError(
  request: IncomingMessage,
  response: ServerResponse,
  error: { status: number; code: string; message: string; headers?: Message['headers'] },
): void {
  const { status, code, message, headers } = error;
  send(request, response, { status, headers, body: JSON.stringify({ error: { code, message } }) });
}

function hasHeader(headers: Message['headers'], wanted: string): boolean {
  if (headers === undefined) return false;
  return Object.keys(headers).some((name) => name.toLowerCase() === wanted);
}

function acceptsGzip(request: IncomingMessage): boolean {
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers['accept-encoding'] ?? '');
}
