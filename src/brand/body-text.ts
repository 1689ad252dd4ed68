import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import type { Redactor } from '../common/secrets.ts';
import type { Exchanged } from './exchange.ts';
import { findJson } from './json-object.ts';

/** A body as text. Nothing of it becomes text elsewhere, so no secret gets any further. */
export class BodyText {
  readonly #exchanged: Exchanged;
  readonly #redactor: Redactor;
  #said: string | undefined;
  #json: unknown;

  constructor(exchanged: Exchanged, redactor: Redactor) {
    this.#exchanged = exchanged;
    this.#redactor = redactor;
  }

  /** What it is read as first, whatever charset is named. Undefined when it is not UTF-8. */
  asUtf8(): string | undefined {
    const text = textOf(this.#exchanged.bytes);
    return text === undefined ? undefined : this.#redactor.json(text);
  }

  /** Undefined when no charset is named or to be seen, or it is not in it. */
  inItsCharset(): string | undefined {
    const { bytes, headers } = this.#exchanged;
    const text = textIn(utf16Of(bytes) ?? charsetOf(headers['content-type']), bytes);
    return text === undefined ? undefined : this.#redactor.json(text);
  }

  /** The body as UTF-8, whatever it is. */
  get said(): string {
    const { bytes, isCut, bodyError } = this.#exchanged;
    const isPart = isCut || bodyError !== undefined;
    this.#said ??= this.#redactor.text(bytes.toString('utf8'), isPart);
    return this.#said;
  }

  /**
   * Why a body that is not UTF-8 cannot be read, and the place; undefined when it may have been cut
   * off before it was sent.
   */
  get whyNotUtf8(): string | undefined {
    const { bytes } = this.#exchanged;
    if (!/[}\]]\s*$/.test(bytes.toString('latin1', bytes.length - 10))) {
      return undefined;
    }
    const text = bytes.toString('utf8');
    const at = Buffer.byteLength(text.slice(0, text.indexOf('\uFFFD')));
    const byte = bytes[at]?.toString(16).toUpperCase();
    return `no UTF-8: byte ${byte} at ${at + 1}`;
  }

  /** The value of the body, of whatever kind; undefined when it is no JSON, or did not come whole. */
  get json(): unknown {
    const { isCut, bodyError } = this.#exchanged;
    if (isCut || bodyError) return undefined;
    this.#json ??= jsonIn(this.asUtf8()) ?? jsonIn(this.inItsCharset());
    return this.#json;
  }
}

function jsonIn(text: string | undefined): unknown {
  return text === undefined ? undefined : findJson(text);
}

/**
 * The text of a body read as UTF-8, whatever encoding its headers name. Undefined when the bytes
 * are not UTF-8. A byte order mark is left out.
 */
function textOf(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  // The decoder puts U+FFFD for invalid bytes. The body may also hold that character itself, so
  // only then are the bytes checked.
  if (text.includes('\uFFFD') && !isUtf8(bytes)) return undefined;
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

/** The text of a body in a charset. Undefined when the charset is not known or the body is not in it. */
function textIn(charset: string | undefined, bytes: Buffer): string | undefined {
  if (charset === undefined) return undefined;
  const encoding = LATIN_1.test(charset) ? 'windows-1252' : charset;
  if (!iconv().encodingExists(encoding)) return undefined;
  const text = iconv().decode(bytes, encoding);
  return text.includes('\uFFFD') ? undefined : text;
}

/** Whether a content type names a charset that cannot be decoded here. */
export function isCharsetStrange(contentType: unknown): boolean {
  const charset = charsetOf(contentType);
  return charset !== undefined && !LATIN_1.test(charset) && !iconv().encodingExists(charset);
}

/**
 * Which UTF-16 a body is in: it begins with its mark, or with a zero byte beside an ASCII character,
 * as all JSON does (RFC 4627, 3). UTF-8 never begins so.
 */
function utf16Of([first, second]: Buffer): string | undefined {
  if ((first === 0xff && second === 0xfe) || (first && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second)) return 'utf-16be';
  return undefined;
}

function charsetOf(contentType: unknown): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(String(contentType)) ?? [];
  return charset;
}

/** Not TextDecoder: in Node.js 20 it has no '€' in Windows-1252. */
function iconv(): typeof import('iconv-lite') {
  return load('iconv-lite') as typeof import('iconv-lite');
}

const load = createRequire(import.meta.url);

/**
 * Latin-1 is read as Windows-1252, as browsers do: where the two differ, Latin-1 has control
 * characters, which JSON cannot hold.
 */
const LATIN_1 = /^(iso-?8859-1|latin-?1|(us-)?ascii)$/i;
