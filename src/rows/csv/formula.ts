/**
 * What a program may drop unseen at the beginning of a cell. A tab or a carriage return is taken for
 * the beginning of a formula by itself.
 */
const UNSEEN = String.raw`[\p{Z}\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*`;
/**
 * An equals sign; a plus, a minus or an at sign in front of something that calculates: a function, a
 * reference, another program (`+cmd|…`), numbers with an operator and no space between them. A
 * telephone number such as `+49 89 1234` and a name such as `@acme` are none.
 */
const FORMULA = new RegExp(
  `^(?:[\\t\\r]|${UNSEEN}(?:[=＝]|[+\\-@＋－＠﹦﹢﹣﹫]${UNSEEN}(?:.*[(|!"&^%<>=:{]|[+\\-@=]|[$]?[a-z]{1,3}[$]?\\d|[\\d.]+[*/+\\-])))`,
  'isu',
);

/** A number of a telephone with a space or `1(` in it, which no spreadsheet can calculate. */
const TELEPHONE = /^\+\d[\d()/.-]*(?: |(?<=\d)\()[\d ()/.-]*$/;

/** How nearly all texts begin, which are spared the search. */
const PLAIN = /^[A-Za-z0-9]/;

/**
 * Puts a `'` in front of a text that a spreadsheet would calculate.
 *
 * @see {@link https://owasp.org/www-community/attacks/CSV_Injection CSV injection}
 */
export function guardFormula(text: string): string {
  return !PLAIN.test(text) && FORMULA.test(text) && !TELEPHONE.test(text) ? `'${text}` : text;
}
