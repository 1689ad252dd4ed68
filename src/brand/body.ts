import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Dispatcher } from 'undici';

/** The body was larger, after decompression, than the caller allows. Reading stopped there. */
export class ResponseTooLargeError extends Error {
  override readonly name = 'ResponseTooLargeError';
}

/** What the client asks for; `readBody` undoes each of them. */
export const ACCEPTED_ENCODINGS = 'gzip, br, deflate';

/**
 * Reads a body as text, never more than `maxBytes` of it after decompression.
 *
 * @throws ResponseTooLargeError when there is more.
 * @throws Error when the body is cut short or is not in the encoding it claims.
 */
export async function readBody(
  response: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<string> {
  const encoding = encodingOf(response);
  const declaredBytes = Number(response.headers['content-length']);
  // The HTTP parser holds a peer to the length it declared, so nothing needs to be counted here.
  if (encoding === 'identity' && declaredBytes <= maxBytes) return await response.body.text();
  const bytes = await readBytes(response, maxBytes);
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/**
 * Reads a body as it is, never more than `maxBytes` of it after decompression.
 *
 * @throws as {@link readBody}
 */
export async function readBytes(
  response: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<Buffer> {
  const encoding = encodingOf(response);
  const declaredBytes = Number(response.headers['content-length']);
  if (encoding === 'identity' && declaredBytes > maxBytes) throw tooLarge(response);

  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  for await (const chunk of decoded(response.body, encoding)) {
    sizeBytes += chunk.length;
    if (sizeBytes > maxBytes) throw tooLarge(response);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function encodingOf({ headers }: Dispatcher.ResponseData): string {
  return String(headers['content-encoding'] ?? 'identity').toLowerCase();
}

/** Reads at most the beginning of a body, for what it says about an error; never throws. */
export async function readBeginning(
  response: Dispatcher.ResponseData,
  maxBytes: number,
): Promise<string> {
  const encoding = encodingOf(response);
  const chunks: Buffer[] = [];
  let sizeBytes = 0;
  try {
    for await (const chunk of decoded(response.body, encoding)) {
      chunks.push(chunk);
      sizeBytes += chunk.length;
      if (sizeBytes >= maxBytes) break;
    }
  } catch {
    // What came before it broke off is still worth telling.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString('utf8');
}

function decoded(body: Dispatcher.ResponseData['body'], encoding: string): AsyncIterable<Buffer> {
  switch (encoding) {
    case 'gzip':
    case 'x-gzip':
      return unzip(body, createGunzip());
    case 'br':
      return unzip(body, createBrotliDecompress());
    case 'deflate':
      return unzip(body, createInflate());
    default:
      return body;
  }
}

function unzip(
  body: Dispatcher.ResponseData['body'],
  stream: ReturnType<typeof createGunzip>,
): AsyncIterable<Buffer> {
  body.on('error', (error) => stream.destroy(error));
  stream.on('close', () => body.destroy());
  return body.pipe(stream);
}

function tooLarge(response: Dispatcher.ResponseData): ResponseTooLargeError {
  response.body.on('error', () => {}); // destroying it makes undici report an abort nobody waits for
  response.body.destroy();
  return new ResponseTooLargeError('the body is larger than allowed');
}
