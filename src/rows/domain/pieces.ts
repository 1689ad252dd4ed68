import { meaningOfName } from '../columns/column-name.ts';

/** Only this much of a cell is looked at; a host stands near its beginning. */
const MAX_TEXT_LENGTH = 16_384;
/** More addresses than these need not be compared. */
const MOST_PIECES = 50;

const EDGES = '"\'`=,;|\x7f';
const EDGES_AND_BRACKETS = `${EDGES}()[]{}<>`;
/** What is not in ASCII. */
const EDGE = /[\s\p{Cc}\p{Cf}\p{Quotation_Mark}´′″]/u;

/** Words for nothing, of programs and people. The booleans are those of formulas. */
const WORDS_FOR_NOTHING = new Set(
  (
    'n/a n.a. n.a na n/d k.a. n.v.t. n.v.t \\n null nul nil none nan nat blank empty undefined unknown tbd ' +
    'yok nincs nema ingen inget なし 无 無 暂无 없음 true wahr vrai ' +
    'verdadero vero false falsch faux falso'
  ).split(' '),
);
/** Dashes, zero, errors of spreadsheets: `#REF!`, `#DIV/0!`, `#NOM?`; and what a form begins with. */
const SIGNS_FOR_NOTHING =
  /^(?:0+(?:[.,]0+)?|[\p{Pd}_?.*~/]+|#[\p{L}/0_]+[!?]?|(?:https?:\/*)?www\.?)$/iu;

/** `no`, in some languages, and perhaps what there is none of. */
const NO =
  /^(?:no|not?ne|without|kein(?:e|en)?|ohne|sin|sem|senza|sans|pas de|aucun|geen|ingen|inget|brak|ei|žádn[ýáé]|нет|без)(?: (.*))?$/;
/** That there is none any more. */
const ENDED =
  /^(?:(?:is |now |permanently )?closed(?: down)?|out of business|defunct|dissolved|bankrupt|insolvent|offline|inactive|none found|not (?:available|applicable|found|known)|does not exist|unavailable|ei ole|nu are|không có|δεν υπάρχει|geschlossen|aufgelöst|erloschen|unbekannt|cerrad[oa]|fermée?|chius[oa]|gesloten|zamknięt[ay]|закрыт[ао]?)$/;

/** Whether a cell says that there is nothing in it: `N/A`, `null`, `-`, `0`, `#REF!`, `no website`. */
export function isNothing(text: string): boolean {
  const whole = text.length < 40 ? trimEdges(text, EDGES_AND_BRACKETS).toLowerCase() : '';
  if (ENDED.test(whole)) return true;
  const [isNo, what] = NO.exec(whole) ?? [];
  if (isNo && (what === undefined || meaningOfName(what).kind !== undefined)) return true;
  const words = trimEdges(text, EDGES_AND_BRACKETS).split(/[\s,;|<>]+/);
  return words.every(
    (word) =>
      word === '' || WORDS_FOR_NOTHING.has(word.toLowerCase()) || SIGNS_FOR_NOTHING.test(word),
  );
}

/** `acme[.]com`, so that nobody clicks on it; `jo (at) acme (dot) com`, so that no robot writes. */
const DEFANGED_DOT = /\s{0,5}[[({](?:\.|dot)[\])}]\s*/gi;
const DEFANGED_AT = /\s{0,5}[[({](?:@|at)[\])}]\s*/gi;
/** `Website: acme.com` */
const LABEL = /^(\p{L}[\p{L} -]{0,19})[:\uff1a](?!\d|[\\/]{1,2})\s*/u;

/** A cell without the quotes and signs at its ends, without tags of HTML, and what names its kind. */
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

/** The texts in `{"url":"https://acme.com"}` that may be addresses, also with the quotes of Python. */
function addressesInObject(text: string): string {
  const quoted = Array.from(text.matchAll(/"([^"]*)"|'([^']*)'/g), ([, one, two]) => one ?? two);
  return quoted.filter((value) => /^\s*\S+\.\S+\s*$/.test(value ?? '')).join(' ');
}

/**
 * What stands between the words of a cell, whatever wrote it: lists, formulas, links of Markdown and
 * HTML, and those of Access, `text#address#place in it#`.
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
