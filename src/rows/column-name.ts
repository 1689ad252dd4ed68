/** What a column's name promises: a domain, an address on the web, an e-mail address. */
export type NameKind = 'domain' | 'web' | 'email';

/**
 * How sure the name is of it. `plain`: it says nothing else (`Company domain name`). `qualified`: a
 * word more that says nothing here (`prospect website`). `foreign`: a word that speaks against it
 * (`linkedin url`, `email_opt_in`, `brand_domain`).
 */
export type NameFit = 'plain' | 'qualified' | 'foreign';

export interface NameMeaning {
  readonly kind: NameKind | undefined;
  readonly fit: NameFit;
}

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;

const KINDS: readonly (readonly [NameKind, ReadonlySet<string>])[] = [
  ['domain', wordSet('domain domains domainname hostname fqdn')],
  ['web', wordSet('website websites webseite homepage url urls web site webpage webaddress host')],
  ['email', wordSet('email emails mail emailaddress')],
];

const NEUTRAL = wordSet(
  'company companies business corporate corp organization organisation org firm account customer client ' +
    'contact lead person work office official main primary root own name names address full the of your',
);

const FOREIGN = wordSet(
  'linkedin twitter x facebook instagram youtube tiktok pinterest xing github crunchbase wikipedia google ' +
    'glassdoor social profile logo icon image img photo picture avatar banner video media file download ' +
    'policy privacy terms legal cookie tracking tracker referrer referer utm campaign source redirect ' +
    'callback webhook api feed rss sitemap docs career careers job jobs unsubscribe optin opt in out brand ' +
    'rank ranking score count number total created updated modified date time status type category id key ' +
    'authority age registrar expiry provider alternative secondary old previous parent',
);

/** Reads a column's name word by word, without regard to case, punctuation, `camelCase` or `snake_case`. */
export function meaningOfName(name: string): NameMeaning {
  const words = wordsOf(name.slice(0, MAX_NAME_LENGTH));
  const kind = KINDS.find(([, known]) => words.some((word) => known.has(word)))?.[0];
  return { kind, fit: fitOfWords(words) };
}

function fitOfWords(words: readonly string[]): NameFit {
  if (words.some((word) => FOREIGN.has(word))) return 'foreign';
  const isPlain = (word: string): boolean =>
    NEUTRAL.has(word) || KINDS.some(([, known]) => known.has(word));
  return words.every(isPlain) ? 'plain' : 'qualified';
}

function wordsOf(text: string): readonly string[] {
  const spaced = text
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .replace(/\be mail/g, 'email')
    .replace(/\b(home|web) (?=page|site|address)/g, '$1')
    .replace(/\bopt (in|out)\b/g, 'opt')
    .replace(/(\p{L})\d+/gu, '$1');
  return spaced.split(' ').filter((word) => word !== '' && !/^\d+$/.test(word));
}

function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.split(' '));
}
