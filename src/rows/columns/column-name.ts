/**
 * The kind of content that a column's name promises: a domain, an address on the web, an e-mail
 * address.
 */
export type NameKind = 'domain' | 'web' | 'email';

export interface NameMeaning {
  readonly kind: NameKind | undefined;
  /** Whether a word speaks against that (`linkedin url`, `email_opt_in`, `brand_domain`). */
  readonly isForeign: boolean;
}

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;

/**
 * Reads a column's name without regard to case, diacritics, punctuation, `camelCase` or
 * `snake_case`. The cells of a column decide what it holds; its name breaks ties between columns, and
 * is believed where there are no cells.
 */
export function meaningOfName(name: string): NameMeaning {
  const text = name
    .slice(0, MAX_NAME_LENGTH)
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}]+/gu, ' ')
    .trim();
  // An `email domain` belongs to the provider that carries the mail.
  const isOfMail = EMAIL.test(text) && !WEB.test(text);
  const kind = isOfMail
    ? 'email'
    : DOMAIN.test(text)
      ? 'domain'
      : WEB.test(text)
        ? 'web'
        : undefined;
  return { kind, isForeign: FOREIGN.test(text) };
}

const DOMAIN = /domain|doman|domæn|domein|dominio|hostname|host name|fqdn/;
const WEB =
  /web ?(?:site|seite|page|adress|auftritt|link|sida)|\b(?:web|sites?|www|host|urls?|sitio|sito|internet\p{L}*)\b|home ?page|hemsida|hjemmeside|сайт|网址|官网|ホームページ|홈페이지/u;
const EMAIL = /email(?!le)|e mail|\bmails?\b|mailadres|correo|courriel|e post/;
/** Words for other sites, for the owner's own people, and for what is not the address itself. */
const FOREIGN = new RegExp(
  String.raw`\b(?:${(
    'linked ?in twitter x facebook instagram youtube tiktok xing github crunchbase google social profile ' +
    'logos? icons? images? pictures? photos? avatar video file download bild foto ' +
    'label thumbnails? mx resume listing review verweisende verwijzende referent referencia api webhook feed rss blog news utm form policy privacy terms cookie tracking referrer referring referral refer ' +
    'source origin redirect campaign landing conversion quelle herkunft meeting calendar ' +
    'status opt optin out unsubscribed? subscribed bounced? valid verified verification score rank count number date time type ' +
    'owner rep manager user assigned created modified by besitzer inhaber ' +
    'brand parent competitor previous former old other secondary alternate id change seen first seen jobs? careers? '
  )
    .trim()
    .split(/ (?!\?)/)
    .join('|')})\b`,
);
