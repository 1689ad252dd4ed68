import { createRequire } from 'node:module';
import { domainToUnicode } from 'node:url';

/** Hosts that only need lower case. An `xn--` label is not plain: it must be decoded to be checked. */
export const PLAIN_HOST: RegExp = /^[a-z0-9._-]{1,254}$/i;
const ACE_LABEL = /(?:^|\.)xn--/i;
const IDNA = { checkBidi: true, checkHyphens: false, checkJoiners: true };

/** What word processors and people put for a hyphen: dashes of all lengths, the minus sign. */
const LIKE_A_HYPHEN = /[\p{Pd}\u2043\u02d7\u207b\u208b\u2212]/gu;
/**
 * `acme™.com`: UTS #46 would read the sign as letters. RFC 5895, the mapping for IDNA2008, maps
 * case and width only.
 */
const SIGN = /[^\p{ASCII}\u06fd\u06fe\u3007](?<=[\p{S}\p{No}])/u;
/** All that IDNA2008 allows in a label, ASCII aside (RFC 5892). */
const ALLOWED =
  /^(?:[\p{ASCII}\p{Ll}\p{Lo}\p{Lm}\p{Mn}\p{Mc}\p{Nd}\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u200c-\u200d\u3007\u30fb](?<![\u0640\u07fa\u302e\u302f\u3031-\u3035\u303b\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7fb]))*$/u;
/** Signs that are allowed only beside others (RFC 5892, appendix A). */
const OUT_OF_CONTEXT =
  /(?<!l)\u00b7|\u00b7(?!l)|\u0375(?!\p{Script=Greek})|(?<!\p{Script=Hebrew})[\u05f3\u05f4]/u;
const KATAKANA_DOT = /\u30fb/;
const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u;

/**
 * The ASCII name that DNS knows. Dots and hyphens of other scripts are read as such.
 *
 * @returns undefined when the name has a sign that no registry sells, such as an emoji
 * @see https://www.unicode.org/reports/tr46/ (non-transitional, CheckBidi, CheckJoiners)
 * @see https://www.rfc-editor.org/rfc/rfc5892 (what IDNA2008 allows)
 */
export function toAsciiHost(host: string): string | undefined {
  if (PLAIN_HOST.test(host) && !ACE_LABEL.test(host)) return host.toLowerCase();
  const hyphened = host.replace(LIKE_A_HYPHEN, '-');
  if (SIGN.test(hyphened)) return undefined;
  try {
    const ascii = idna().toASCII(hyphened, IDNA);
    if (ascii === null || !ACE_LABEL.test(ascii)) return ascii ?? undefined;
    const name = domainToUnicode(ascii);
    if (!ALLOWED.test(name) || OUT_OF_CONTEXT.test(name)) return undefined;
    return KATAKANA_DOT.test(name) && !JAPANESE.test(name) ? undefined : ascii;
  } catch {
    return undefined; // a lone surrogate, or Punycode that overflows
  }
}

let loaded: typeof import('tr46') | undefined;

/** Loaded for the first name that is not plain: its tables take longer than a short list. */
function idna(): typeof import('tr46') {
  loaded ??= createRequire(import.meta.url)('tr46') as typeof import('tr46');
  return loaded;
}
