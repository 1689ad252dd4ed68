import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';

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
