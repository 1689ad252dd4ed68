import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';

/**
 * The text of a body, as nearly all are: UTF-8, whatever is said of it; undefined when the bytes are none.
 * A byte order mark is left out.
 */
export function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  // What cannot be read becomes this character. It may also have been sent: only then are the bytes looked at.
  if (text.includes('\uFFFD') && !isUtf8(bytes)) return undefined;
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** The text of a body in the `charset` of its content type; undefined when there is none, or it is not in that. */
export function textAsDeclared(bytes: Buffer, contentType: unknown): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(String(contentType)) ?? [];
  if (charset === undefined) return undefined;
  // Not TextDecoder: that of Node.js 20 has no '€' in Windows-1252.
  const iconv = load('iconv-lite') as typeof import('iconv-lite');
  const encoding = LATIN_1.test(charset) ? 'windows-1252' : charset;
  if (!iconv.encodingExists(encoding)) return undefined;
  const text = iconv.decode(bytes, encoding);
  return text.includes('\uFFFD') ? undefined : text;
}

const load = createRequire(import.meta.url);

/** As browsers do: where the two differ, Latin-1 has control characters that no JSON holds. */
const LATIN_1 = /^(iso-?8859-1|latin-?1|(us-)?ascii)$/i;
