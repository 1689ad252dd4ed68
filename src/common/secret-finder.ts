/** From where to where in a text. */
export type Span = readonly [start: number, end: number];

/** Finds secrets in a text, in the order in which they begin. */
export type Find = (text: string) => readonly Span[];

/** Fewer characters at the end of a cut text may be anything. */
const SHORTEST_START = 3;
/** So many characters of a secret are found by an expression. One of thousands cannot be compiled. */
const LONGEST_BEGINNING = 24;
/**
 * So many times the length of a text is decoded. There is no end to escapes in escapes, and what is
 * not read to its end is not shown.
 */
const MOST_DECODED = 12;
const LEAST_DECODED = 100_000;

/**
 * @param secrets none of them short
 * @param isCut whether a text goes on where it ends, so that the start of a secret there is one
 */
export function createFinder(secrets: readonly string[], isCut: boolean): Find {
  const isAscii = secrets.every((secret) => inBytes(secret) === secret);
  // What escapes and blocks hold are bytes, each of which is read as one character.
  const patterns = [...new Set([...secrets, ...secrets.map(inBytes)])]
    .map(withoutGaps)
    .sort((a, b) => b.length - a.length);
  const shortest = isCut ? SHORTEST_START : (patterns.at(-1)?.length ?? 0);
  const folded = patterns.map((secret) => secret.split('').map(fold));
  const gap = isAscii ? GAP_IN_ASCII : GAP_IN_ANY;
  const beginnings = patterns.map((secret) => charsOf(secret.slice(0, LONGEST_BEGINNING), gap));
  const heads = beginnings.map((chars) =>
    chars.slice(0, isCut ? SHORTEST_START : undefined).join(''),
  );
  const head = new RegExp([...new Set(heads)].join('|'), 'gi');
  const blocks = [blockOf('base64', shortest, isAscii), blockOf('hex', shortest, isAscii)];
  const begins = `(?=${beginnings.map(untilEscape).join('|')})`;
  /** Where the first characters of a secret may be taken for the end of an escape. */
  const taken = new RegExp(`${begins}(?<=${PART_OF_ESCAPE})`, 'gi');
  /** The same, once in an escape: a secret may seem to begin again within itself. */
  const takenFirst = new RegExp(`(?:${PART_OF_ESCAPE})${begins}`, 'gi');
  /** Whatever holds a secret in the escapes of every JSON text holds this, as does other text. */
  const inPlainJson = new RegExp(
    patterns.map((secret) => withEscapesBetween(secret, gap)).join('|'),
    'i',
  );
  const isGap = new RegExp(gap.usual);
  /** Bytes of a block that are no text, with what is too short to be a secret of ASCII. */
  const binary = isAscii
    ? new RegExp(`[^${TEXT}]+(?:[${TEXT}]{1,${shortest - 1}}[^${TEXT}]+)*`, 'gu')
    : /(?!)/g;

  /** All that a text may mean when one more thing in it is decoded. */
  function* decode(view: View): Generator<View, void, void> {
    const unescaped = rewrite(view, ESCAPE, meaningOf);
    yield unescaped === view ? rewrite(view, TAG, '') : unescaped;
    if (unescaped !== view) {
      yield rewrite(view, taken, BARRIER);
      yield rewrite(view, takenFirst, (part) => part + BARRIER);
    }
    for (const block of blocks.filter((one) => mayHold(view.text, one))) {
      const dense = rewrite(view, block.between, (part) => part.slice(BEFORE_DIGITS));
      for (let offset = 0; offset < 24 / block.bits; offset += 1) {
        yield decodeRuns(dense, block, offset);
      }
    }
  }

  function spansIn(view: View, given: string): readonly Span[] {
    const spans: Span[] = [];
    let covered = 0;
    head.lastIndex = 0;
    for (let found = head.exec(view.text); found; found = head.exec(view.text)) {
      const { index } = found;
      const last = Math.max(
        ...folded.map((secret) => endOf(secret, view.text, { start: index, gap: isGap, isCut })),
      );
      head.lastIndex = Math.max(index + 1, last);
      if (last === -1) continue;
      let [start, end] = view.spanOf(index, last);
      if (end <= covered) continue;
      // What stands around a secret in a block, without a gap, is replaced along with it.
      while (view.isOfBlock && start > covered && IN_BLOCK.test(given.charAt(start - 1)))
        start -= 1;
      while (view.isOfBlock && IN_BLOCK.test(given.charAt(end))) end += 1;
      covered = end;
      spans.push([start, end]);
    }
    return spans;
  }

  return (text) => {
    const given: View = { text, isOfBlock: false, spanOf: (start, end) => [start, end] };
    const hides = whatHides(text);
    const hasBlock = blocks.some((block) => mayHold(text, block, hides === 'escapes_of_json'));
    if ((hides === 'nothing' && !hasBlock) || text.length < shortest) return spansIn(given, text);
    // Most answers have no other escapes. To decode one takes ten times as long as to look at it.
    if (hides === 'escapes_of_json' && !hasBlock && !isCut && !inPlainJson.test(text)) return [];
    const spans: Span[] = [];
    const views: View[] = [];
    const seen = new Set<string>();
    let left = Math.max(LEAST_DECODED, MOST_DECODED * text.length);
    const add = (view: View): void => {
      const dense = rewrite(view.isOfBlock ? rewrite(view, binary, BARRIER) : view, GAPS, '');
      if (seen.has(dense.text)) return;
      seen.add(dense.text);
      views.push(dense);
      left -= dense.text.length;
    };
    add(given);
    // Grows while it is read.
    for (const view of views) {
      for (const span of spansIn(view, text)) spans.push(span);
      for (const decoded of decode(view)) if (decoded !== view) add(decoded);
      if (left < 0) return [[0, text.length]];
    }
    return spans.sort(([a], [b]) => a - b);
  };
}

/**
 * Where a secret ends that begins at a place, gaps left out, and what is a plus in a form; -1 when
 * it does not go on.
 */
function endOf(
  secret: readonly string[],
  text: string,
  { start, gap, isCut }: { readonly start: number; readonly gap: RegExp; readonly isCut: boolean },
): number {
  let count = 0;
  let at = start;
  for (; at < text.length && count < secret.length; at += 1) {
    const char = fold(text.charAt(at));
    if (char === secret[count]) count += 1;
    else if (!gap.test(char)) break;
  }
  if (count === secret.length) return at;
  const isAtEnd = isCut && count >= SHORTEST_START && PART_AT_END.test(text.slice(at, at + 12));
  return isAtEnd ? text.length : -1;
}

function fold(char: string): string {
  return char.toLowerCase();
}

/** A text as it can be read. */
interface View {
  readonly text: string;
  readonly isOfBlock: boolean;
  /** Where a part of it is written in the text that was given. */
  readonly spanOf: (start: number, end: number) => Span;
}

/** A part of a text, and what it was read from. */
interface Piece {
  readonly said: string;
  readonly start: number;
  readonly end: number;
  /** What a character that was read stands for: 8 for itself, 0 when all of them stand for all. */
  readonly bits: number;
}

/** Reads a text with all of a form replaced by what it stands for. */
function rewrite(view: View, form: RegExp, meaning: string | ((match: string) => string)): View {
  const { text } = view;
  const [fixed, read] =
    typeof meaning === 'string' ? [meaning, () => meaning] : [undefined, meaning];
  const decoded =
    fixed === undefined ? text.replace(form, (match) => read(match)) : text.replace(form, fixed);
  if (decoded === text) return view;

  function* piecesOf(): Generator<Piece, void, void> {
    let from = 0;
    for (const { 0: match, index } of text.matchAll(form)) {
      yield { said: text.slice(from, index), start: from, end: index, bits: 8 };
      from = index + match.length;
      yield { said: read(match), start: index, end: from, bits: 0 };
    }
    yield { said: text.slice(from), start: from, end: text.length, bits: 8 };
  }

  return { text: decoded, isOfBlock: view.isOfBlock, spanOf: placesIn(view, decoded, piecesOf) };
}

/** All that a text may hold in a block, decoded, and nothing else. */
function decodeRuns(view: View, { encoding, bits, run, row }: Block, offset: number): View {
  const pieces: Piece[] = [];
  for (const { 0: found, index } of view.text.matchAll(run)) {
    if (!row.test(found)) continue;
    const start = index + offset;
    const end = index + found.length;
    const said = Buffer.from(found.slice(offset), encoding).toString('latin1');
    pieces.push({ said, start, end, bits });
    if (end < view.text.length) pieces.push({ said: BARRIER, start: end, end, bits: 0 });
  }
  const text = pieces.map(({ said }) => said).join('');
  return { text, isOfBlock: true, spanOf: placesIn(view, text, () => pieces) };
}

/** Says of a text where its parts are written, which is found out once it is asked for. */
function placesIn(view: View, text: string, piecesOf: () => Iterable<Piece>): View['spanOf'] {
  let places: Uint32Array | undefined;
  const findPlaces = (): Uint32Array => {
    const found = new Uint32Array(text.length * 2);
    let at = 0;
    for (const { said, start, end, bits } of piecesOf()) {
      for (let bit = 0; bit < said.length * 8; bit += 8) {
        found[at] = bits === 0 ? start : start + Math.floor(bit / bits);
        found[at + 1] = bits === 0 ? end : start + Math.ceil((bit + 8) / bits);
        at += 2;
      }
    }
    return found;
  };
  return (start, end) => {
    places ??= findPlaces();
    return view.spanOf(places[start * 2] ?? 0, places[end * 2 - 1] ?? 0);
  };
}

/** A way to write bytes as characters. */
interface Block {
  readonly encoding: 'base64' | 'hex';
  /** What a character stands for. */
  readonly bits: number;
  /** The fewest characters that hold a secret. */
  readonly least: number;
  /** By code: 1 for what it is made of, and for what may stand between. */
  readonly parts: Uint8Array;
  /** What may stand between its characters, besides gaps, and `0x` with the two that follow. */
  readonly between: RegExp;
  readonly run: RegExp;
  /** So many characters, each of which can be where it is. Prose hardly ever is such a row. */
  readonly row: RegExp;
}

/**
 * Base64, also that of URLs, or hex.
 *
 * @param isAscii whether all secrets are of ASCII: then one bit of eight is known
 */
function blockOf(encoding: Block['encoding'], shortest: number, isAscii: boolean): Block {
  const isHex = encoding === 'hex';
  const [chars, between] = isHex ? [String.raw`\da-f`, ':,;+-'] : [String.raw`\w+/\-`, ''];
  const places = isHex ? ['0-7', chars] : [32, 8, 2, 0].map(base64Without);
  const gap = isHex ? String.raw`(?:[\s${between}]|0\s*x)*` : String.raw`\s*`;
  const group = places.map((place) => `[${isAscii ? place : chars}]${gap}`).join('');
  const groups = isHex ? shortest : Math.max(2, Math.floor((shortest - 2) / 3));
  const least = groups * places.length;
  const part = new RegExp(`[${isHex ? 'x' : ''}${chars}\\s${between}]`, 'i');
  return {
    encoding,
    bits: isHex ? 4 : 6,
    least,
    parts: Uint8Array.from({ length: 256 }, (_, code) =>
      part.test(String.fromCharCode(code)) ? 1 : 0,
    ),
    // With its digits: `0x30 x` has no second `0x`.
    between: isHex ? new RegExp(`0x[\\da-f]{2}|[${between}]`, 'gi') : /(?!)/g,
    run: new RegExp(`[${chars}]{${least},}`, isHex ? 'gi' : 'g'),
    row: new RegExp(`(?:${group}){${groups}}`, isHex ? 'i' : ''),
  };
}

/** The length of `0x`. */
const BEFORE_DIGITS = 2;

/** Characters of base64 whose value has not the bit. */
function base64Without(bit: number): string {
  const alphabet = Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789');
  return [...alphabet, String.raw`+\-`, '/_'].filter((_, value) => (value & bit) === 0).join('');
}

/**
 * Whether a text may hold a secret in a block. A row of it is long, and most texts break it soon: one
 * look at a character spares many.
 *
 * @param hasEscapes whether the escapes of JSON in it are read. @default false
 */
function mayHold(text: string, { least, parts, row }: Block, hasEscapes = false): boolean {
  const { length } = text;
  const isPart = (at: number): boolean => {
    const code = text.charCodeAt(at);
    return parts[code] === 1 || (hasEscapes && code === BACKSLASH);
  };
  let broken = -1;
  while (broken + least < length) {
    let at = broken + least;
    while (at > broken && isPart(at)) at -= 1;
    if (at === broken) {
      at += least;
      while (at < length && isPart(at)) at += 1;
      const run = text.slice(broken + 1, at);
      if (row.test(hasEscapes ? run.replaceAll(ESCAPE_OF_JSON, '$1') : run)) return true;
    }
    broken = at;
  }
  return false;
}

const BACKSLASH = 0x5c;

/** The characters of a secret. Between two may be gaps. */
function charsOf(secret: string, { usual, beforePlus }: Gap): readonly string[] {
  return Array.from(secret, (char, at) => {
    const gap = `${char === '+' ? beforePlus : usual}*`;
    return (at === 0 ? '' : gap) + escapeRegExp(char);
  });
}

/** The first of these characters and all that follow, until an escape begins. */
function untilEscape([first = '', ...chars]: readonly string[]): string {
  return first + chars.reduceRight((rest, char) => `(?:[\\\\%&<]|${char}${rest})`, '');
}

/** What may be left of an escape at the end of a text. */
const PART_AT_END = /^(?:[\\%&][\w#{]{0,8})?$/;
/** Stands where no secret goes on. */
const BARRIER = 'ÿ';
/** What may stand between two characters of a secret. A plus is a space in a form. */
interface Gap {
  readonly usual: string;
  readonly beforePlus: string;
}

const GAP_IN_ANY: Gap = { usual: String.raw`[\s+]`, beforePlus: String.raw`\s` };
/** In one of ASCII, all that is none may: it is shown as nothing, as a space, or as what it is not. */
const GAP_IN_ASCII: Gap = { usual: `[^!-*,-~${BARRIER}]`, beforePlus: `[^!-~${BARRIER}]` };
const PART_OF_ESCAPE = String.raw`\\(?:u\{?|x)?[\da-f]{0,5}?|%u?[\da-f]{0,3}?|&#?\w{0,31}?`;
const IN_BLOCK = /[\w+/=-]/;

/**
 * May stand between any two characters of a secret: white space, controls, invisible ones, and what
 * their bytes in UTF-8 are taken for.
 */
const GAP = String.raw`\s\p{Cc}\p{Cf}ÂâÏï»¿`;
const GAPS = new RegExp(`[${GAP}]`, 'gu');
/** What a secret of ASCII is written with. */
const TEXT = String.raw`\0-\x7f${GAP}`;

export function withoutGaps(text: string): string {
  return text.replaceAll(GAPS, '');
}

/**
 * What a text may hide a secret with: nothing but the usual gaps, the escapes that JSON has for quotes,
 * strokes and line ends, or anything.
 */
function whatHides(text: string): 'nothing' | 'escapes_of_json' | 'anything' {
  let hasEscapes = false;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const role = ROLES[code] || roleOf(code);
    if (role === PLAIN) continue;
    const next = text.charAt(at + 1);
    if (role === HIDES) return 'anything';
    if (code === BACKSLASH) {
      // Of two backslashes, the second may begin another escape.
      if (!/["/bfnrt]/.test(next)) return 'anything';
      at += 1;
    } else if (/[\da-z#\s]/i.test(next)) return 'anything';
    hasEscapes = true;
  }
  return hasEscapes ? 'escapes_of_json' : 'nothing';
}

/** By code unit, once it has occurred. An expression for all of them takes twenty times as long. */
const ROLES = new Uint8Array(0x1_00_00);
const PLAIN = 1;
/** `\`, `%` and `&`: what follows decides. */
const SIGN = 2;
const HIDES = 3;

function roleOf(code: number): number {
  const char = String.fromCharCode(code);
  const role = /[\\%&]/.test(char) ? SIGN : MAY_HIDE.test(char) ? HIDES : PLAIN;
  ROLES[code] = role;
  return role;
}

/** A tag may; so may all gaps but the most usual. Some gaps have one of these first surrogates. */
const MAY_HIDE = new RegExp(String.raw`[[<\ud804\ud80d\ud82f\ud834\udb40${GAP}]--[ \t\r\n]]`, 'v');
const ESCAPE_OF_JSON = /\\(?:(["/])|[bfnrt])/g;

/**
 * The beginning of a secret, with escapes of JSON before and between its characters. What stands in front
 * of it may have the first one for its end.
 */
function withEscapesBetween(secret: string, { usual, beforePlus }: Gap): string {
  const chars = Array.from(secret).slice(0, LONGEST_BEGINNING);
  return chars
    .map((char, at) => {
      if (at === 0) return escapeRegExp(char);
      const gap = String.raw`(?:\\[bfnrt]|${char === '+' ? beforePlus : usual})*`;
      return gap + (char === '"' || char === '/' ? String.raw`\\?` : '') + escapeRegExp(char);
    })
    .join('');
}

/** A tag of HTML, such as `<br>`, shows nothing. */
const TAG = /<[^<>]*>/g;

/** HTML's names for what a credential may hold, each before its character. All others are of gaps. */
const ENTITIES: ReadonlyMap<string, string> = new Map(
  Array.from(
    String.raw`excl!quot"num#dollar$percnt%amp&apos'lpar(rpar)ast*midast*plus+commat@comma,period.sol/colon:semi;lt<equals=gt>quest?lsqb[lbrack[bsol\rsqb]rbrack]hat^lowbar_underbar_grave${'`'}diacriticalgrave${'`'}lcub{lbrace{verbar|vert|verticalline|rcub}rbrace}nbsp shy `.matchAll(
      /([a-z]+)([^a-z])/g,
    ),
    ([, name = '', char = '']) => [name, char],
  ),
);

const ESCAPE = new RegExp(
  [
    String.raw`[\\%]u[\da-f]{4}|\\[ux]\{0*[\da-f]{1,6}\}|(?:\\x|%)[\da-f]{2}|\\[0-7]{1,3}|\\[^]`,
    String.raw`&(?:#x0*[\da-f]{1,8}|#0*\d{1,9}|${[...ENTITIES.keys()].join('|')});?|&[a-z][a-z\d]{1,30};`,
  ].join('|'),
  'gi',
);

function meaningOf(escape: string): string {
  const name = ENTITIES.get(escape.replaceAll(/[&;]/g, '').toLowerCase());
  if (/^&[^#]/.test(escape)) return name ?? '';
  const [, digits] = /^(?:[\\%]u\{?|\\x\{?|%|&#x)([\da-f]+)/i.exec(escape) ?? [];
  if (digits !== undefined) return charOf(digits, 16);
  const [, octal, decimal] = /^(?:\\([0-7]+)|&#(\d+))/.exec(escape) ?? [];
  if (octal !== undefined || decimal !== undefined)
    return charOf(octal ?? decimal ?? '', octal ? 8 : 10);
  return /[nrtbfv]/i.test(escape) ? '' : escape.slice(1);
}

function charOf(digits: string, base: number): string {
  const code = Number.parseInt(digits, base);
  return code <= 0x10_ff_ff ? String.fromCodePoint(code) : BARRIER;
}

export function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

function inBytes(text: string): string {
  return Buffer.from(text).toString('latin1');
}
