import WORDS from './column-words.json' with { type: 'json' };

/**
 * The kind of content that a column's name promises: a domain, an address on the web, an e-mail
 * address.
 */
export type NameKind = 'domain' | 'web' | 'email';

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;
/** What a database puts around an object: `_source.website`. */
const ENVELOPE = /^_\w+\./;

/**
 * Reads a column's name without regard to case, diacritics, punctuation, `camelCase` or
 * `snake_case`, in the languages of `column-words.json`. Its words are separated by commas, with
 * `*` at the side where they may go on.
 */
export function meaningOfName(name: string) {
  const own = name.slice(0, MAX_NAME_LENGTH).replace(ENVELOPE, '');
  const words = own.replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2');
  const text = ` ${fold(words)} `;
  const has = (sense: Sense): boolean => patternOf(sense).test(text);
  const isWeb = has('web');
  // An `email domain` belongs to the provider that carries the mail.
  const isOfMail = has('email') && !isWeb;
  const kind: NameKind | undefined = isOfMail
    ? 'email'
    : has('domain')
      ? 'domain'
      : isWeb
        ? 'web'
        : undefined;
  const rest = TELLING.reduce((left, sense) => left.replaceAll(patternOf(sense), ' '), text);
  return {
    kind,
    /** Whether it says nothing else: `Company website`, but not `Fair website`. */
    isPlain: kind !== undefined && rest.trim() === '',
    /** Whether a word speaks against that (`linkedin url`, `email_opt_in`, `brand_domain`). */
    isForeign: has('foreign'),
  };
}

type Sense = keyof typeof WORDS;

const TELLING: readonly Sense[] = ['domain', 'web', 'email', 'neutral'];
const patterns = new Map<Sense, RegExp>();

/** Finds the words of a sense in a text whose words have a space at either side. */
function patternOf(sense: Sense): RegExp {
  const made = patterns.get(sense) ?? new RegExp(patternsIn(WORDS[sense]).join('|'), 'gu');
  patterns.set(sense, made);
  made.lastIndex = 0;
  return made;
}

/** What may follow a word that may go on at either side. */
const INFLECTION = 3;

function patternsIn(lines: readonly string[]): readonly string[] {
  return lines
    .join(',')
    .split(',')
    .map((word) => {
      const [, start, text = '', end] = /^\s*(\*?)(.*?)(\*?)$/.exec(word) ?? [];
      const before = start ? '' : ' ';
      const behind = end ? String.raw`\p{L}{0,${start ? INFLECTION : MAX_NAME_LENGTH}}` : '(?= )';
      return before + fold(text) + behind;
    });
}

/** Letters without case and diacritics, with one space for all that is between words. */
function fold(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
  return plain.replaceAll(/[^\p{L}]+/gu, ' ').trim();
}
