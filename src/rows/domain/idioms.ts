/**
 * What programs and people write around an address: quotes, formulas, links of Markdown, HTML and
 * Access, lists. And what they write where there is none.
 */

/** Only this much of a cell is looked at; a host stands near its beginning. */
const MAX_TEXT_LENGTH = 16_384;
/** More addresses than these need not be compared. */
const MOST_PIECES = 50;

const EDGES = '"\'`=,;|\x7f';
const EDGES_AND_BRACKETS = `${EDGES}()[]{}<>`;
/** What is not in ASCII. */
const EDGE = /[\s\p{Cc}\p{Cf}\p{Quotation_Mark}´′″]/u;
/** `[::1]:80`: these brackets belong to the address. */
const ADDRESS_6 = /^\[[0-9a-f:.]*:[0-9a-f:.]*(?:%\w*)?\]/i;

/** Whatever the function is called in a language. */
const HYPERLINK =
  /^[\s=]*[\p{L}._]{4,}\(\s*"((?:[^"]|"")+)"\s*(?:\)|[,;]\s*(?:"((?:[^"]|"")+)"\s*\))?)/u;
const MARKDOWN_LINK = /!?\[([^[\]]*)\]\(\s*<?([^\s<>()]+)[^()]*\)?/g;
const HTML_LINK = /<a\s[^<>]*?href\s*=\s*["']?([^"'<>\s]*)[^<>]*>([^<]*)/gi;
const HTML_TAG = /<\/?[a-z][a-z0-9]*(?:\s[^<>]*)?\/?>/gi;
/** `Website: acme.com` */
const LABEL = /^(?:website|web|url|domain|homepage|e-?mail)\s*:\s+/i;
/** `www,acme.com`, `www. acme.com` */
const BEHIND_WWW = /^((?:https?:[\\/]+)?www)[\s.,]+(?=[^\s,]+\.\S)/i;
/** A link and its description, as SharePoint exports them: `https://acme.com, Acme Inc.` */
const SHAREPOINT_LINK = /^(https?:\/\/[^\s,]+), (?!.*(?:[@/]|\.\p{L}))/isu;
const IN_ANGLES = /<([^<>]*)>/g;

const SEPARATORS = /[\s,;|、<>]+/;
/** In a query, a comma is part of it, unless what follows is clearly an address. */
const BEFORE_ADDRESS = /[\s,;|、<>]+(?=["']|https?:|www\.)/i;
const EXPLICIT = /^(?:https?:|www\.)/i;

/** Words for nothing, of programs and people. The booleans are those of formulas. */
const WORDS_FOR_NOTHING = new Set(
  (
    'n/a n.a. n.a na n/d k.a. \\n null nul nil none nan nat blank empty undefined unknown tbd true wahr vrai ' +
    'verdadero vero false falsch faux falso'
  ).split(' '),
);
/** Dashes, zero, errors of spreadsheets: `#REF!`, `#DIV/0!`, `#NOM?`; and what a form begins with. */
const SIGNS_FOR_NOTHING =
  /^(?:0+(?:[.,]0+)?|[\p{Pd}_?.*~/]+|#[\p{L}/0_]+[!?]?|(?:https?:\/*)?www\.?)$/iu;

/** Whether a cell says that there is nothing in it: `N/A`, `null`, `-`, `FALSE`, `0`, `#REF!`. */
export function isNothing(text: string): boolean {
  const words = trimEdges(text, EDGES_AND_BRACKETS).split(SEPARATORS);
  return words.every(
    (word) =>
      word === '' || WORDS_FOR_NOTHING.has(word.toLowerCase()) || SIGNS_FOR_NOTHING.test(word),
  );
}

/**
 * The addresses in a cell, bare of what stands around them. It is one where the rest of the cell
 * might be its path.
 *
 * @param isDomain whether a text is a domain; what a link shows counts then, rather than its target
 */
export function addressesIn(
  text: string,
  isDomain: (text: string) => boolean,
): { readonly whole: string; readonly pieces: readonly string[] } {
  const trimmed = trimEdges(text).slice(0, MAX_TEXT_LENGTH);
  const whole = trimBrackets(withoutMarkup(trimmed, isDomain));
  return { whole, pieces: split(whole) };
}

/** Most cells: nothing around the address, no second one, no markup. */
const BARE = /^[\w/][\w.@:/?%+~$!*=&-]*[\w/]$/;

/** Whether a cell has nothing but one address in it, without any idiom around it. */
export function isBare(text: string): boolean {
  return BARE.test(text);
}

/** Whether a piece of a cell cannot be meant as anything but an address. */
export function isExplicit(piece: string): boolean {
  return EXPLICIT.test(piece);
}

/** What may stand between addresses where no separator is expected; words, and a scheme. */
const ANYTHING_BETWEEN =
  /[^\p{L}\p{N}\p{M}\p{Cf}.:@%\\/_-]+(?:(?:and|or|und|oder|et|ou|y|e|o)[^\p{L}\p{N}.]+)?|:(?![\\/\d])|(?<=.)(?=https?:[\\/])/iu;

/** The pieces of a text that may be several addresses, whatever stands between them. */
export function splitAnywhere(text: string): readonly string[] {
  return text.split(ANYTHING_BETWEEN, MOST_PIECES).filter(mayBeAddress);
}

function split(text: string): readonly string[] {
  const query = text.search(/[?#]/);
  const head = query === -1 ? text : text.slice(0, query);
  const pieces = head.split(SEPARATORS, MOST_PIECES);
  if (query !== -1) {
    const [first = '', ...others] = text.slice(query).split(BEFORE_ADDRESS, MOST_PIECES);
    pieces.push(`${pieces.pop() ?? ''}${first}`, ...others);
  }
  return pieces.map(trimBrackets).filter(mayBeAddress);
}

/** What has no letter in it is a sign, the number of an item, or of a telephone. */
function mayBeAddress(piece: string): boolean {
  return /\p{L}/u.test(piece) && !isNothing(piece);
}

function withoutMarkup(text: string, isDomain: (text: string) => boolean): string {
  const choose = (shown: string, target: string): string => {
    const own = trimEdges(shown);
    return isDomain(own) ? ` ${own} ` : ` ${target} `;
  };
  let plain = text
    .replaceAll('&amp;', '&')
    .replaceAll(/&nbsp;?/g, ' ')
    .replace(LABEL, '');
  const formula = readHyperlink(plain);
  if (formula) return choose(formula.text, formula.target);
  plain = plain
    .replace(MARKDOWN_LINK, (_, shown: string, target: string) => choose(shown, target))
    .replace(HTML_LINK, (_, target: string, shown: string) => choose(shown, target))
    .replace(HTML_TAG, ' ')
    .trim();
  if (plain.endsWith('>')) plain = inAngles(plain);
  return (
    accessTarget(plain) ?? SHAREPOINT_LINK.exec(plain)?.[1] ?? plain.replace(BEHIND_WWW, '$1.')
  );
}

/** The target of a formula such as `HYPERLINK("https://acme.com","Acme")`, and its visible text. */
export function readHyperlink(formula: string): { target: string; text: string } | undefined {
  const found = HYPERLINK.exec(formula)?.map((part) => part?.replaceAll('""', '"'));
  if (found === undefined || /^[\s=]*IMAGE/i.test(formula)) return undefined;
  const [, target = '', text = target] = found;
  return { target, text };
}

/** `Jane Doe <jane@acme.com>`, `<https://acme.com>`, and `<https://acme.com|Acme>` of chats. */
function inAngles(text: string): string {
  const found = [...text.matchAll(IN_ANGLES)].map(([, address = '']) => address.split('|', 1)[0]);
  return found.join(' ') || text;
}

/** The address in a hyperlink of Microsoft Access, `text#address#place in it#tip#`. */
function accessTarget(text: string): string | undefined {
  if (!text.endsWith('#')) return undefined;
  const [, address = ''] = text.split('#', 2);
  return /[.:@]/.test(address) ? address : undefined;
}

/** Removes white space, controls, invisible marks, quotes and separators at both ends. */
export function trimEdges(text: string, signs = EDGES): string {
  let start = 0;
  let end = text.length;
  while (isEdge(text, start, signs)) start += 1;
  while (isEdge(text, end - 1, signs)) end -= 1;
  return text.slice(start, end);
}

function isEdge(text: string, index: number, signs: string): boolean {
  const code = text.charCodeAt(index);
  return code < 0x80
    ? code <= 0x20 || signs.includes(text.charAt(index))
    : EDGE.test(text.charAt(index));
}

/** Removes brackets at both ends too, those of a list such as `["acme.com"]` as well. */
function trimBrackets(text: string): string {
  const trimmed = trimEdges(text);
  return ADDRESS_6.test(trimmed) ? trimmed : trimEdges(trimmed, EDGES_AND_BRACKETS);
}
