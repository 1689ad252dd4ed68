import { type ServerResponse, validateHeaderName, validateHeaderValue } from 'node:http';
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

/**
 * Decides the answer to a call: `respond` first, then faults, then missing domains, then found
 * ones.
 */
export function decideReply(
  { respond, errors = 0, notFound = 0, logos = false, api }: SandboxOptions,
  { domain, hash, ordinal, host }: Asked,
): SandboxReply {
  const own = respond && callRespond(respond, domain, ordinal);
  if (own !== undefined) return own;
  if (draw(hash, purposes.fault, ordinal) < errors) {
    return FAULTS[Math.floor(draw(hash, purposes.faultKind, ordinal) * FAULTS.length)] ?? 'reset';
  }
  if (api) return api.reply(domain, ordinal);
  if (draw(hash, purposes.notFound) < notFound) return UNKNOWN_DOMAIN;
  return { body: createBrandAnswer(domain, hash, logos ? `http://${host}/logos` : undefined) };
}

/** Faults as they occur: the service itself speaks JSON, the gateway in front of it does not. */
const FAULTS: readonly SandboxReply[] = [
  errorReply(500, 'internal', 'Something went wrong on our side.'),
  {
    status: 502,
    headers: { 'Content-Type': 'text/html' },
    body: '<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>',
  },
  errorReply(503, 'unavailable', 'Temporarily unavailable.'),
];
const UNKNOWN_DOMAIN = errorReply(404, 'not_found', 'Nothing is known about this domain.');

/** An error as JSON. */
export function errorReply(status: number, code: string, message: string): SandboxAnswer {
  return { status, body: { error: { code, message } } };
}

/** What throws, or returns what HTTP cannot carry, would end the process when it is sent. */
function callRespond(
  respond: NonNullable<SandboxOptions['respond']>,
  domain: string,
  ordinal: number,
): SandboxReply | undefined {
  try {
    const reply = respond(domain, ordinal) ?? undefined;
    return reply === undefined || reply === 'reset' || reply === 'hang' ? reply : sendable(reply);
  } catch (error) {
    return errorReply(500, 'respond_threw', String(error));
  }
}

/** @throws Error that says what is wrong with an answer */
function sendable(reply: SandboxAnswer): SandboxAnswer {
  if (typeof reply !== 'object' || reply instanceof Promise) {
    const what = reply instanceof Promise ? 'promise' : typeof reply;
    throw new TypeError(`expected an answer, 'reset' or 'hang', received a ${what}`);
  }
  const { status = 200, headers = {}, body = '' } = reply;
  if (!Number.isInteger(status) || status < 200 || status > 999) {
    throw new RangeError(`expected a status from 200 to 999, received ${String(status)}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return { ...reply, body: bytesOf(body) };
}

/** @throws TypeError for what JSON cannot hold */
function bytesOf(body: unknown): string | Uint8Array {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  const text = JSON.stringify(body) as string | undefined;
  if (text !== undefined) return text;
  throw new TypeError(`expected a body for JSON, received a ${typeof body}`);
}

/** Sends an answer. */
export function send(
  response: ServerResponse,
  { status = 200, headers = {}, body = '', breakOff = false }: SandboxAnswer,
): void {
  const bytes = bytesOf(body);
  const all = new Map(Object.entries(headers).map((pair) => [pair[0].toLowerCase(), pair]));
  // No content: neither a length nor a type of it (RFC 9110, section 8.6).
  if (status !== 204 && status !== 304) {
    const size = String(Buffer.byteLength(bytes));
    if (!all.has('content-length')) all.set('content-length', ['Content-Length', size]);
    if (!all.has('content-type')) all.set('content-type', ['Content-Type', JSON_TYPE]);
  }
  response.writeHead(status, [...all.values()].flat());
  if (breakOff) {
    response.write(bytes.slice(0, bytes.length >> 1), () => response.destroy());
  } else response.end(bytes);
}

const JSON_TYPE = 'application/json; charset=utf-8';
