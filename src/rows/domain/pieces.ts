import { meaningOfName } from '../columns/column-name.ts';
import NONE from './words-for-none.json' with { type: 'json' };

/** Only this much of a cell is looked at; a host stands near its beginning. */
const MAX_TEXT_LENGTH = 16_384;
/** More addresses than these need not be compared. */
const MOST_PIECES = 50;

const EDGES = '"\'`=,;|\x7f';
const EDGES_AND_BRACKETS = `${EDGES}()[]{}<>`;
/** What is not in ASCII. */
const EDGE = /[\s\p{Cc}\p{Cf}\p{Quotation_Mark}´′″]/u;

/**
 * Dashes, zero, errors of spreadsheets: `#REF!`, `#DIV/0!`, `#NOM?`; and what a form begins with.
 */
const SIGNS_FOR_NOTHING =
  /^(?:0+(?:[.,]0+)?|[\p{Pd}_?.*~/]+|#[\p{L}/0_]+[!?]?|(?:https?:\/*)?www\.?)$/iu;

/**
 * `words-for-none.json` has words for nothing, of programs and people, among them the booleans of
 * formulas; words for `no`, with what there is none of behind them; and what says that it has
 * ended.
 */
const WORDS = new Set(NONE.words);
const ENDED = new Set(NONE.ended);

/**
 * Whether a cell says that there is nothing in it: `N/A`, `null`, `-`, `0`, `#REF!`, `no website`.
 */
export function isNothing(text: string): boolean {
  const bare = trimEdges(text, EDGES_AND_BRACKETS).toLowerCase();
  const whole = text.length < 40 ? bare : '';
  if (ENDED.has(whole)) return true;
  const no = NONE.no.find((word) => `${whole} `.startsWith(`${word} `));
  const what = no && whole.slice(no.length).trim();
  if (what === '' || (what && meaningOfName(what).kind !== undefined)) return true;
  return bare
    .split(/[\s,;|<>]+/)
    .every((word) => word === '' || WORDS.has(word) || SIGNS_FOR_NOTHING.test(word));
}

/** `acme[.]com`, so that nobody clicks on it; `jo (at) acme (dot) com`, so that no robot writes. */
const DEFANGED_DOT = /\s{0,5}[[({](?:\.|dot)[\])}]\s*/gi;
const DEFANGED_AT = /\s{0,5}[[({](?:@|at)[\])}]\s*/gi;
/** `Website: acme.com` */
const LABEL = /^(\p{L}[\p{L} -]{0,19})[:\uff1a](?!\d|[\\/]{1,2})\s*/u;

/**
 * A cell without the quotes and signs at its ends, without tags of HTML, and what names its kind.
 */
export function bareText(text: string): string {
  const plain = text
    .slice(0, MAX_TEXT_LENGTH)
    .replaceAll('&amp;', '&')
    .replaceAll(/&nbsp;|<\/?[a-z]+\s*\/?>/gi, ' ')
    .replaceAll(DEFANGED_DOT, '.')
    .replaceAll(DEFANGED_AT, '@');
  const trimmed = trimEdges(plain);
  if (/^[[\s]*\{/.test(trimmed)) return addressesInObject(trimmed) || trimmed;
  return trimmed.replace(LABEL, (whole, label: string) =>
    meaningOfName(label).isPlain ? '' : whole,
  );
}

/**
 * The texts in `{"url":"https://acme.com"}` that may be addresses, also with the quotes of Python.
 */
function addressesInObject(text: string): string {
  const quoted = Array.from(text.matchAll(/"([^"]*)"|'([^']*)'/g), ([, one, two]) => one ?? two);
  return quoted.filter((value) => /^\s*\S+\.\S+\s*$/.test(value ?? '')).join(' ');
}

/**
 * What stands between the words of a cell, whatever wrote it: lists, formulas, links of Markdown
 * and HTML, and those of Access, `text#address#place in it#`.
 */
const BETWEEN = /[\s,;|、<>()[\]{}"']+|(?<!#)#+(?=https?:|www\.)/i;

/** The words of a cell that may be addresses. One without a letter is a sign or a number. */
export function piecesOf(text: string): readonly string[] {
  return text
    .split(BETWEEN, MOST_PIECES)
    .filter((piece) => /\p{L}/u.test(piece) && !isNothing(piece));
}

/** Whether a word cannot be meant as anything but an address, whatever is around it. */
export function isExplicit(piece: string): boolean {
  return /^(?:https?:|www\.)|@/i.test(piece);
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
