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
    'n/a n.a. n.a na n/d k.a. \\n null nul nil none nan nat blank empty undefined unknown tbd true wahr vrai ' +
    'verdadero vero false falsch faux falso'
  ).split(' '),
);
/** Dashes, zero, errors of spreadsheets: `#REF!`, `#DIV/0!`, `#NOM?`; and what a form begins with. */
const SIGNS_FOR_NOTHING =
  /^(?:0+(?:[.,]0+)?|[\p{Pd}_?.*~/]+|#[\p{L}/0_]+[!?]?|(?:https?:\/*)?www\.?)$/iu;

/** Whether a cell says that there is nothing in it: `N/A`, `null`, `-`, `FALSE`, `0`, `#REF!`. */
export function isNothing(text: string): boolean {
  const words = trimEdges(text, EDGES_AND_BRACKETS).split(/[\s,;|<>]+/);
  return words.every(
    (word) =>
      word === '' || WORDS_FOR_NOTHING.has(word.toLowerCase()) || SIGNS_FOR_NOTHING.test(word),
  );
}

/** A cell without the quotes and signs at its ends, and without tags of HTML. */
export function bareText(text: string): string {
  const plain = text
    .slice(0, MAX_TEXT_LENGTH)
    .replaceAll('&amp;', '&')
    .replaceAll(/&nbsp;|<\/?[a-z]+\s*\/?>/gi, ' ');
  return trimEdges(plain);
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
