import { isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import type { Redactor } from '../common/secrets.ts';
import { findRoundedJson, withLongNumbers, withoutNaN } from './json-object.ts';
import type { Exchanged } from './transport.ts';

/** What was mended in a body so that it could be read. */
export type Mended = 'nan' | 'quoted' | 'latin1';

/** A body as text. Nothing of it becomes text elsewhere, so no secret gets any further. */
export class Body {
  /** What was mended in it by now; undefined when it is as it came. */
  mended: Mended | undefined;
  readonly #exchanged: Exchanged;
  readonly #redactor: Redactor;
  #text: string | undefined;
  #isReadable = true;
  #json: unknown = NOT_READ;

  constructor(exchanged: Exchanged, redactor: Redactor) {
    this.#exchanged = exchanged;
    this.#redactor = redactor;
  }

  /**
   * The text as it came, but for secrets and what was mended: in UTF-8 if it is that, else in the
   * charset that is named, else in Latin-1.
   */
  get text(): string {
    this.#text ??= this.#read();
    return this.#text;
  }

  /** Whether its charset is known, and it is in it. */
  get isReadable(): boolean {
    return this.text !== undefined && this.#isReadable;
  }

  /** The JSON that it is, of whatever kind; undefined when it is none, or did not come whole. */
  get json(): unknown {
    const { rounded } = this;
    return rounded === undefined ? undefined : withLongNumbers(this.text, rounded);
  }

  /** The same with numbers as JavaScript can hold them, which spares the search for others. */
  get rounded(): unknown {
    if (this.#json === NOT_READ) {
      const { isCut, bodyError } = this.#exchanged;
      const isWhole = !isCut && !bodyError && this.isReadable;
      this.#json = isWhole ? this.#parse() : undefined;
    }
    return this.#json;
  }

  #parse(): unknown {
    const value = findRoundedJson(this.text);
    if (value === undefined && /NaN|Infinity/.test(this.text)) {
      return this.#mend('nan', withoutNaN(this.text));
    }
    const isQuoted = typeof value === 'string' && value.trimStart().startsWith('{');
    return isQuoted ? (this.#mend('quoted', value) ?? value) : value;
  }

  /** The value of a mended text, which then stands for what came. */
  #mend(how: Mended, text: string): unknown {
    const mended = this.#redactor.json(text);
    const value = findRoundedJson(mended);
    if (value === undefined) return undefined;
    this.#text = mended;
    this.mended = how;
    return value;
  }

  #read(): string {
    const { bytes, headers, isCut, bodyError } = this.#exchanged;
    const charset = utf16Of(bytes) ?? charsetOf(headers['content-type']);
    const inUtf8 = asUtf8(bytes);
    const text = inUtf8 ?? asCharset(bytes, charset ?? LATIN_1);
    this.#isReadable = text !== undefined;
    if (inUtf8 === undefined && charset === undefined) this.mended = 'latin1';
    const isPart = isCut || bodyError !== undefined;
    if (text !== undefined && !isPart) return this.#redactor.json(text);
    return this.#redactor.text(text ?? bytes.toString('utf8'), isPart);
  }
}

const NOT_READ = Symbol('not read');

/** A byte order mark is left out. */
function asUtf8(bytes: Buffer): string | undefined {
  const text = bytes.toString('utf8');
  // The decoder puts U+FFFD for invalid bytes. The body may also hold that character itself.
  if (text.includes('\0') || (text.includes('\uFFFD') && !isUtf8(bytes))) return undefined;
  return text.startsWith('\uFEFF') ? text.slice(1) : text;
}

function asCharset(bytes: Buffer, charset: string): string | undefined {
  const iconv = load('iconv-lite') as typeof import('iconv-lite');
  if (!iconv.encodingExists(charset)) return undefined;
  // Not TextDecoder: in Node.js 20 it has no '€' in Windows-1252.
  const text = iconv.decode(bytes, charset);
  return /[\0\uFFFD]/.test(text) ? undefined : text;
}

/** Which UTF-16 it is: it begins with its mark, or with a zero byte beside an ASCII character. */
function utf16Of([first, second]: Buffer): string | undefined {
  if ((first === 0xff && second === 0xfe) || (first && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second)) return 'utf-16be';
  return undefined;
}

/** Latin-1 is read as Windows-1252, as browsers do. */
const LATIN_1 = 'windows-1252';

function charsetOf(contentType: unknown): string | undefined {
  const [, charset] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(String(contentType)) ?? [];
  return charset !== undefined && /^(iso-?8859-1|latin-?1|(us-)?ascii)$/i.test(charset)
    ? LATIN_1
    : charset;
}

const load = createRequire(import.meta.url);
