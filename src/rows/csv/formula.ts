/** What a program may drop unseen at the beginning of a cell. */
const UNSEEN = /^[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]+/u;
/**
 * What is taken for the beginning of a formula by itself, and what is one in front of what
 * calculates.
 */
const ALWAYS = /^[=＝﹦]/;
const SIGNS = /^[+\-@＋－＠﹢﹣﹫]/;
/**
 * A function, a reference, another program (`+cmd|…`), numbers with an operator and no space
 * between.
 */
const CALCULATES = /[(|!"&^%<>=:{]|^(?:[+\-@=]|[$]?[a-z]{1,3}[$]?\d|[\d.]+[*/+-])/i;

/** A number of a telephone with a space or `1(` in it, which no spreadsheet can calculate. */
const TELEPHONE = /^\+\d[\d ()/.-]*$/;

/** How nearly all texts begin, which are spared the search. */
const PLAIN = /^[A-Za-z0-9]/;

/**
 * Puts a `'` in front of a text that a spreadsheet would calculate: an equals sign; a plus, a minus
 * or an at sign in front of something that calculates. A telephone number such as `+49 89 1234` and
 * a name such as `@acme` are none. The time that this takes grows with the text and no faster.
 *
 * @see {@link https://owasp.org/www-community/attacks/CSV_Injection CSV injection}
 */
export function guardFormula(text: string): string {
  return !PLAIN.test(text) && isFormula(text) ? `'${text}` : text;
}

function isFormula(text: string): boolean {
  if (text.startsWith('\t') || text.startsWith('\r')) return true; // taken for one by itself
  const seen = text.replace(UNSEEN, '');
  if (ALWAYS.test(seen)) return true;
  if (!SIGNS.test(seen) || !CALCULATES.test(seen.slice(1).replace(UNSEEN, ''))) return false;
  return !(TELEPHONE.test(text) && / |\d\(/.test(text));
}
