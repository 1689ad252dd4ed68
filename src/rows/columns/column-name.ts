/**
 * The kind of content that a column's name promises: a domain, an address on the web, an e-mail
 * address.
 */
export type NameKind = 'domain' | 'web' | 'email';

/**
 * How sure the name is of that kind:
 * - `plain`: it says nothing else (`Company domain name`).
 * - `qualified`: it has another word that means nothing here (`upstream website`).
 * - `foreign`: it has a word that speaks against the kind (`linkedin url`, `email_opt_in`,
 *   `brand_domain`).
 */
export type NameFit = 'plain' | 'qualified' | 'foreign';

export interface NameMeaning {
  readonly kind: NameKind | undefined;
  readonly fit: NameFit;
}

/** Long names are free text; only their beginning is read. */
const MAX_NAME_LENGTH = 120;

/**
 * Reads a column's name word by word, in the languages of the tables below, without regard to
 * case, diacritics, punctuation, `camelCase` or `snake_case`.
 */
export function meaningOfName(name: string): NameMeaning {
  const senses = sensesOf(wordsOfName(name.slice(0, MAX_NAME_LENGTH)));
  return { kind: kindOf(senses), fit: fitOf(senses) };
}

function kindOf(senses: readonly Sense[]): NameKind | undefined {
  // An `email domain` belongs to the provider that carries the mail.
  if (senses.includes('email') && !senses.includes('web')) return 'email';
  return KINDS.find((kind) => senses.includes(kind));
}

const KINDS: readonly NameKind[] = ['domain', 'web', 'email'];

function fitOf(senses: readonly Sense[]): NameFit {
  if (senses.includes('foreign')) return 'foreign';
  return senses.includes('unknown') ? 'qualified' : 'plain';
}

/** The meaning of a word in a column's name; `unknown` has none. */
type Sense = keyof ColumnWords | 'unknown';

/**
 * The meanings of the words of a name, in order. The longest phrase counts: `home page` is an
 * address on the web, although neither word is.
 */
function sensesOf(words: readonly string[]): readonly Sense[] {
  const lexicon = openLexicon();
  const senses: Sense[] = [];
  for (let at = 0; at < words.length; ) {
    const { sense, length } = longestPhrase(words, at, lexicon);
    if (sense === undefined) senses.push(...sensesWithin(words[at] ?? '', lexicon));
    else senses.push(sense);
    at += length;
  }
  return senses;
}

interface Lexicon {
  /** By word, or by words separated by spaces. */
  readonly phrases: ReadonlyMap<string, Sense>;
  /** Number of words in the longest phrase. */
  readonly mostWords: number;
  /** Number of characters in the longest phrase. */
  readonly mostLetters: number;
}

let opened: Lexicon | undefined;

/** If a word has two meanings, the first of these counts. */
const ORDER = ['domain', 'web', 'email', 'neutral', 'foreign'] as const;

function openLexicon(): Lexicon {
  opened ??= createLexicon();
  return opened;
}

function createLexicon(): Lexicon {
  const phrases = new Map<string, Sense>();
  let mostWords = 1;
  let mostLetters = 1;
  for (const sense of ORDER) {
    for (const language of Object.values(COLUMN_WORDS)) {
      for (const phrase of language[sense].split(',')) {
        const words = wordsOfName(phrase.trim());
        const text = words.join(' ');
        if (text === '' || phrases.has(text)) continue;
        phrases.set(text, sense);
        mostWords = Math.max(mostWords, words.length);
        mostLetters = Math.max(mostLetters, text.length);
      }
    }
  }
  return { phrases, mostWords, mostLetters };
}

function longestPhrase(
  words: readonly string[],
  at: number,
  { phrases, mostWords }: Lexicon,
): { readonly sense: Sense | undefined; readonly length: number } {
  for (let length = Math.min(mostWords, words.length - at); length > 0; length -= 1) {
    const sense = phrases.get(words.slice(at, at + length).join(' '));
    if (sense !== undefined) return { sense, length };
  }
  return { sense: undefined, length: 1 };
}

/** The meanings of the parts of a word: `Firmenwebsite`, `emailaddress`, `公司网址`. */
function sensesWithin(word: string, lexicon: Lexicon): readonly Sense[] {
  return isUnspaced(word) ? sensesOfRun(word, lexicon) : sensesOfCompound(word, lexicon);
}

/** Takes the longest known word again and again; anything left between is unknown. */
function sensesOfRun(run: string, { phrases, mostLetters }: Lexicon): readonly Sense[] {
  const senses: Sense[] = [];
  for (let at = 0; at < run.length; ) {
    let length = Math.min(mostLetters, run.length - at);
    while (length > 1 && !phrases.has(run.slice(at, at + length))) length -= 1;
    senses.push(phrases.get(run.slice(at, at + length)) ?? 'unknown');
    at += length;
  }
  return senses;
}

/** Shorter parts occur in all kinds of words. */
const SHORTEST_PART = 3;

/**
 * Splits a compound. Its parts have to make up the whole word; an `s` may join them, as in German.
 */
function sensesOfCompound(word: string, { phrases }: Lexicon): readonly Sense[] {
  /** The meanings of the first letters, by their number. */
  const known: (readonly Sense[] | undefined)[] = [[]];
  for (let end = SHORTEST_PART; end <= word.length; end += 1) {
    for (let start = 0; start <= end - SHORTEST_PART; start += 1) {
      const before = known[start];
      const sense = before && phrases.get(word.slice(start, end));
      if (before === undefined || sense === undefined) continue;
      known[end] = [...before, sense];
      if (word.charAt(end) === 's') known[end + 1] ??= known[end];
      break;
    }
  }
  return known[word.length] ?? ['unknown'];
}

/**
 * Splits a column's name into words that can be compared: lower case, without diacritics,
 * punctuation and numbers. It splits `camelCase` and `snake_case`, and also between scripts:
 * `会社URL` is two words.
 */
function wordsOfName(name: string): readonly string[] {
  // A fast path for plain words: names are compared with a thousand words, and nearly all are
  // plain.
  if (/^[a-z]+(?: [a-z]+)*$/.test(name)) return wordsIn(name);
  const spaced = name
    .normalize('NFKC')
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll}{2})/gu, '$1 $2')
    .replace(ARABIC_ARTICLE, '');
  return wordsIn(
    withoutDiacritics(spaced)
      .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
      .replace(UNSPACED, ' $& ')
      .replace(/(\p{L})\p{N}+/gu, '$1'),
  ).filter((word) => word !== '' && !/^\p{N}+$/u.test(word));
}

function wordsIn(text: string): readonly string[] {
  return text
    .replace(/(?<=^| )e (?=(?:mail|post|mejl))/g, 'e')
    .replace(/(?<=^| )opt (?:in|out)(?= |$)/g, 'opt')
    .split(' ');
}

/** Whether a word is in a script without spaces between words. */
function isUnspaced(word: string): boolean {
  return UNSPACED_ONLY.test(word);
}

const UNSPACED_SCRIPTS = String.raw`\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{Script=Hangul}\p{Script=Thai}`;
const UNSPACED = new RegExp(`[${UNSPACED_SCRIPTS}]+`, 'gu');
const UNSPACED_ONLY = new RegExp(`^[${UNSPACED_SCRIPTS}]+$`, 'u');

/** The article is written together with its word. */
const ARABIC_ARTICLE = /(?<!\p{L})ال(?=\p{L}{3})/gu;

/**
 * Latin, Greek and Cyrillic accents, Hebrew and Arabic vowels, and the Arabic stroke that only
 * stretches.
 */
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670]/g;

/**
 * Letters that are not a letter with a mark, but are written as another letter where they are
 * unavailable.
 */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ı: 'i',
  ς: 'σ',
};

function withoutDiacritics(text: string): string {
  return text
    .toLowerCase()
    .normalize('NFD')
    .replace(MARKS, '')
    .replace(/[ßæœøłđðþıς]/g, (letter) => LETTERS[letter] ?? letter)
    .normalize('NFC');
}

/**
 * The meanings of the words in a column's name, in one language: texts of words and phrases,
 * separated by commas. Case and diacritics do not matter; a word that is in no list means nothing.
 */
export interface ColumnWords {
  /** A domain. */
  readonly domain: string;
  /** An address on the web. */
  readonly web: string;
  /** An e-mail address. */
  readonly email: string;
  /** Words beside those that do not make them less likely: `company`, `of`. */
  readonly neutral: string;
  /** Words that speak against them: `logo`, `status`, words for the owner's own. */
  readonly foreign: string;
}

/**
 * The words that CRMs and people name columns with, by language. All of them count at once: a sheet
 * in one language has columns of a CRM in another.
 */
export const COLUMN_WORDS: Readonly<Record<string, ColumnWords>> = {
  english: {
    domain: 'domain, domains, hostname, host name, fqdn',
    web: 'website, websites, web site, web, site, sites, homepage, home page, webpage, web page, url, urls, www, web address, host',
    email: 'email, emails, mail, mails, electronic mail',
    neutral:
      'company, companies, business, corporate, corp, organization, organisation, org, firm, account, customer, client, contact, lead, prospect, supplier, vendor, employer, person, work, office, official, main, primary, default, root, own, name, names, address, addresses, full, the, of, for, your, our, associated, link, value, page',
    foreign:
      'social, label, profile, icon, image, img, photo, picture, avatar, banner, video, media, file, download, policy, privacy, terms, legal, cookie, tracking, tracker, referrer, referer, referring, referral, origin, landing, seen, conversion, campaign, source, redirect, callback, docs, career, careers, job, jobs, unsubscribe, unsubscribed, subscribed, subscription, optin, opt, in, out, do, not, brand, rank, ranking, score, confidence, quality, verification, verified, valid, count, number, total, created, updated, modified, date, time, day, last, type, category, key, code, authority, age, registrar, expiry, provider, technologies, traffic, visits, views, meeting, calendar, thumbnail, resume, listing, directory, article, news, review, reviews, ticket, mx, dns, bounced, bounce, alternative, alternate, secondary, other, old, previous, former, parent, owner, rep, manager, user, assigned, assistant, marketing, personal, private, display, title, description, subject, template, server, password, competitor, competitors',
  },
  anywhere: {
    domain: '',
    web: '',
    email: '',
    neutral: '',
    foreign:
      'linkedin, linked in, twitter, x, facebook, instagram, youtube, tiktok, pinterest, xing, github, crunchbase, wikipedia, google, glassdoor, zoominfo, apollo, hubspot, salesforce, yelp, trustpilot, bluesky, whatsapp, telegram, skype, wechat, weibo, vk, logo, logos, api, feed, rss, sitemap, webhook, utm, seo, id, blog, newsletter, status, pec',
  },
  german: {
    domain: 'domäne, domaene, domainname, domänenname',
    web: 'webseite, webseiten, webadresse, internet, internetseite, internetseiten, internetadresse, internetauftritt, webauftritt, onlineauftritt, internetpräsenz, internetpraesenz, webpräsenz, webpraesenz, netzseite, startseite',
    email: 'mailadresse, mailanschrift, e post, elektronische post, elektronische adresse',
    neutral:
      'firma, firmen, unternehmen, unternehmens, gesellschaft, kunde, kunden, konto, kontakt, ansprechpartner, interessent, lieferant, lieferanten, partner, betrieb, betriebs, verein, adresse, anschrift, haupt, zentrale, zentral, geschäft, geschäfts, geschäftlich, geschäftliche, geschaeftlich, dienstlich, dienstliche, arbeit, büro, buero, offiziell, offizielle, der, die, das, des, von, zur, zum',
    foreign:
      'bild, foto, symbol, profil, datum, uhrzeit, art, typ, kategorie, anzahl, nummer, privat, persönlich, persoenlich, weitere, alt, alte, besitzer, inhaber, eigentümer, zuständig, verantwortlich, vertreter, abmeldung, abbestellt, einwilligung, werbung, impressum, datenschutz, karriere, stellen, passwort, kennwort, wettbewerber, angezeigter, betreff, soziale, medien, quelle, verweisend, verweisende, herkunft, ursprung, termin, besprechung',
  },
  dutch: {
    domain: 'domein, domeinnaam',
    web: 'webpagina, webadres, webstek, internetadres, internetpagina, internetsite, thuispagina, startpagina',
    email: 'emailadres, mailadres, elektronische post',
    neutral:
      'bedrijf, bedrijfs, bedrijven, onderneming, organisatie, klant, klanten, relatie, leverancier, contactpersoon, adres, naam, van, de, het, hoofd, zakelijk, zakelijke, werk, kantoor, officieel, officiële',
    foreign:
      'afbeelding, plaatje, tijd, soort, aantal, privé, persoonlijk, persoonlijke, eigenaar, verantwoordelijke, uitschrijven, afgemeld, vacatures, verwijzende, herkomst, bron, overige, tweede, wachtwoord',
  },
  swedish: {
    domain: 'domän, domännamn',
    web: 'webbplats, webbplatsen, webbsida, webbadress, webb, hemsida, hemsidan, hemsideadress, sajt, internetadress',
    email: 'e post, e postadress, mejl, mejladress, mailadress',
    neutral:
      'företag, företagets, företags, kund, kundens, adress, namn, kontaktperson, länk, arbete, kontor, officiell, huvud',
    foreign: 'typ, antal, ägare, personlig, ansvarig, lösenord, avregistrerad',
  },
  'danish and norwegian': {
    domain: 'domæne, domænenavn, domene, domenenavn',
    web: 'hjemmeside, hjemmesider, hjemmesideadresse, heimeside, websted, webside, websider, nettsted, nettside, nettsider, nettadresse, netadresse, webadresse',
    email: 'e post, e postadresse, epostadresse, mailadresse',
    neutral:
      'virksomhed, virksomhedens, virksomheds, bedrift, bedriftens, bedrifts, selskap, selskapets, kunde, kundens, adresse, navn, kontakt, lenke, arbejde, arbeid, kontor, offisiell, officiel',
    foreign:
      'billede, bilde, dato, antall, ejer, eier, personlig, ansvarlig, afmeldt, avmeldt, adgangskode, passord',
  },
  finnish: {
    domain: 'verkkotunnus, verkkotunnukset',
    web: 'verkkosivu, verkkosivut, verkkosivusto, verkko osoite, verkkoosoite, kotisivu, kotisivut, kotisivun, nettisivu, nettisivut, nettisivun, internetsivu, internetsivut',
    email: 'sähköposti, sähköpostiosoite, s posti',
    neutral:
      'yritys, yrityksen, asiakas, asiakkaan, osoite, nimi, yhteyshenkilö, työ, virallinen, organisaatio, linkki',
    foreign:
      'kuva, tila, päivämäärä, tyyppi, määrä, omistaja, henkilökohtainen, salasana, markkinointi',
  },
  french: {
    domain: 'domaine, domaines, nom de domaine',
    web: 'site web, site internet, page web, page d accueil, adresse internet, adresse web, adresse url, toile',
    email: 'courriel, mél, mel, messagerie, courrier électronique, adresse électronique',
    neutral:
      'société, entreprise, client, compte, adresse, nom, contact, professionnel, professionnelle, pro, officiel, officielle, principal, principale, siège, lien, de, du, la, le, l, d, des, électronique',
    foreign:
      'statut, état, personnel, personnelle, perso, privé, privée, nombre, numéro, propriétaire, désabonnement, désinscription, autre, ancien, secondaire, commercial, recrutement, carrière, mot de passe, titre, référent, référente, provenance, origine, rendez vous',
  },
  spanish: {
    domain: 'dominio, dominios, nombre de dominio',
    web: 'sitio, sitio web, sitio de internet, página web, página principal, página de inicio, dirección web, dirección de internet',
    email: 'correo, correos, correo electrónico, correo e, dirección electrónica',
    neutral:
      'empresa, compañía, organización, cliente, cuenta, contacto, dirección, nombre, de, del, la, el, corporativo, corporativa, oficial, trabajo, principal, página, enlace, electrónico, electrónica, negocio, laboral, proveedor',
    foreign:
      'imagen, estado, fecha, hora, tipo, número, cantidad, propietario, responsable, postal, baja, otro, secundario, anterior, empleo, contraseña, título, redes, sociales, referencia, origen, fuente, reunión',
  },
  italian: {
    domain: 'nome dominio, nome a dominio',
    web: 'sito, sito web, sito internet, pagina web, indirizzo web, indirizzo internet',
    email: 'posta, posta elettronica, indirizzo elettronico',
    neutral:
      'azienda, aziendale, società, impresa, ditta, contatto, indirizzo, nome, di, del, della, dell, ufficiale, lavoro, pagina, elettronica, elettronico, fornitore, ragione sociale',
    foreign:
      'immagine, stato, data, ora, numero, quantità, proprietario, referente, certificata, personale, privato, privata, altro, secondario, precedente, lavora con noi, provenienza, origine, riunione',
  },
  portuguese: {
    domain: 'domínio, domínios, nome de domínio, nome do domínio',
    web: 'sítio, sítio web, página web, página inicial, página da web, endereço web, endereço do site, endereço na internet',
    email:
      'correio, correio eletrônico, correio eletrónico, correio electrónico, endereço eletrônico, endereço eletrónico',
    neutral:
      'companhia, organização, conta, contato, contacto, endereço, nome, do, da, dos, comercial, trabalho, eletrônico, eletrónico, fornecedor, oficial, profissional',
    foreign:
      'imagem, estado, hora, quantidade, proprietário, responsável, pessoal, outro, secundário, senha, palavra passe, vagas, redes, referência, origem, fonte, reunião',
  },
  polish: {
    domain: 'domena, domeny, nazwa domeny',
    web: 'strona, strona www, strona internetowa, strona domowa, strony internetowej, strony www, witryna, witryny, witryna internetowa, adres www, adres internetowy',
    email: 'poczta, e poczta, poczta elektroniczna, adres elektroniczny',
    neutral:
      'firma, firmy, firmowy, firmowa, przedsiębiorstwo, klient, klienta, adres, nazwa, kontakt, kontaktu, osoba, główna, główny, służbowy, służbowa, oficjalna, internetowa, internetowy, elektroniczna, elektroniczny, dostawca, kontrahent, kontrahenta, link',
    foreign:
      'zdjęcie, obraz, liczba, prywatny, prywatna, właściciel, opiekun, kod, pocztowy, inny, dodatkowy, hasło, zgoda, praca, kariera, źródło, spotkanie',
  },
  'czech and slovak': {
    domain: 'doména, domény, doménové jméno, názov domény, název domény',
    web: 'webová stránka, webové stránky, webová adresa, webový sídlo, internetové stránky, internetová stránka, internetová adresa, domovská stránka, stránka, stránky',
    email: 'elektronická pošta, pošta, e pošta',
    neutral:
      'společnost, společnosti, spoločnosť, spoločnosti, zákazník, zákazníka, klienta, adresa, adresy, název, názov, jméno, meno, webová, webové, internetová, internetové, elektronická, hlavní, hlavná, oficiální, pracovní, pracovný, dodavatel, odkaz, firmy',
    foreign:
      'obrázek, fotografie, stav, počet, číslo, soukromý, soukromá, súkromný, osobní, osobný, vlastník, heslo, souhlas, jiný, iný',
  },
  turkish: {
    domain: 'alan adı, etki alanı, etki alanı adı, alan adları',
    web: 'web sitesi, web sayfası, web adresi, internet sitesi, internet adresi, internet sayfası, ana sayfa, anasayfa, site adresi, sitesi',
    email: 'e posta, eposta, e postası, elektronik posta, posta',
    neutral:
      'şirket, şirketi, şirketin, firma, kurum, kuruluş, müşteri, adresi, adres, adı, ad, isim, kurumsal, iş, resmi, hesap, kişi, ilgili, tedarikçi, bağlantı',
    foreign:
      'resim, fotoğraf, durum, durumu, tarih, tarihi, kişisel, özel, tür, türü, sayısı, sahibi, sorumlu, şifre, diğer, eski',
  },
  'hungarian and romanian': {
    domain: 'tartománynév, tartomány, domeniu, domeniul, nume domeniu, nume de domeniu',
    web: 'weboldal, honlap, webcím, weblap, internetcím, pagină web, pagina de internet, site ul, adresă web',
    email: 'e mail cím, emailcím, levelezési cím, poștă electronică, adresă electronică',
    neutral:
      'cég, vállalat, ügyfél, cím, név, neve, companie, companiei, societate, firmei, clientului, adresă, adresa, nume, oficial, oficială, de',
    foreign:
      'kép, állapot, dátum, típus, száma, személyes, tulajdonos, jelszó, imagine, stare, dată, tip, număr, proprietar',
  },
  russian: {
    domain: 'домен, домены, домена, доменное имя, имя домена',
    web: 'сайт, сайта, сайты, веб сайт, вебсайт, веб страница, интернет сайт, интернет адрес, интернет страница, интернет, домашняя страница, веб, урл, адрес в интернете',
    email:
      'почта, почты, эл почта, электронная почта, электронный адрес, электронный ящик, эл адрес, имейл, емейл, мейл, e майл',
    neutral:
      'компания, компании, организация, организации, фирма, фирмы, предприятие, клиент, клиента, контакт, контакта, контрагент, контрагента, поставщик, адрес, имя, название, наименование, официальный, официального, рабочий, рабочая, рабочее, корпоративный, корпоративная, основной, основная, электронной, ссылка, на',
    foreign:
      'логотип, лого, изображение, фото, картинка, статус, дата, время, личный, личная, тип, вид, количество, номер, вконтакте, вк, телеграм, соцсети, социальные, почтовый, индекс, ответственный, владелец, пароль, другой, прежний, вакансии, отписка, источник, встреча',
  },
  'ukrainian and bulgarian': {
    domain: 'домени, доменне ім я, ім я домену, доменно име, име на домейн, домейн',
    web: 'вебсайт, веб сторінка, вебсторінка, домашня сторінка, інтернет адреса, інтернет, уебсайт, уеб сайт, уеб страница, интернет страница, уеб',
    email:
      'пошта, ел пошта, електронна пошта, електронна адреса, імейл, емейл, поща, електронна поща',
    neutral:
      'компанія, компанії, організація, організації, фірма, фірми, підприємство, клієнт, клієнта, контрагента, адреса, назва, ім я, офіційний, робоча, робочий, основний, посилання, компания, фирмата, име',
    foreign:
      'зображення, світлина, дата, час, особиста, особистий, кількість, власник, відповідальний, індекс, інший, вакансії',
  },
  greek: {
    domain: 'όνομα τομέα, τομέας, όνομα χώρου, ντομέιν',
    web: 'ιστοσελίδα, ιστοσελίδας, ιστοσελίδες, ιστότοπος, ιστότοπου, ιστοτόπου, ιστοχώρος, διεύθυνση ιστού, διεύθυνση ιστοσελίδας, δικτυακός τόπος, αρχική σελίδα, σελίδα',
    email:
      'ηλεκτρονικό ταχυδρομείο, ηλεκτρονική διεύθυνση, ηλ ταχυδρομείο, ηλεκτρονική αλληλογραφία, ημέιλ, ιμέιλ',
    neutral:
      'εταιρεία, εταιρείας, εταιρία, εταιρίας, εταιρική, εταιρικό, επιχείρηση, επιχείρησης, οργανισμός, πελάτης, πελάτη, επαφή, διεύθυνση, όνομα, επωνυμία, επίσημη, επίσημος, του, της, το, η, σύνδεσμος, εργασίας, προμηθευτής',
    foreign:
      'λογότυπο, λογοτύπου, εικόνα, φωτογραφία, κατάσταση, ημερομηνία, τύπος, αριθμός, προσωπικό, προσωπική, ιδιοκτήτης, υπεύθυνος, κωδικός',
  },
  arabic: {
    domain: 'نطاق, اسم نطاق, دومين, مجال',
    web: 'موقع, موقع إلكتروني, موقع ويب, موقع انترنت, مواقع, ويب, ويبسايت, صفحة ويب, صفحة رئيسية, رابط موقع, عنوان موقع',
    email: 'بريد, بريد إلكتروني, إيميل, ايميل, عنوان بريد, عنوان بريد إلكتروني',
    neutral:
      'إلكتروني, إلكترونية, كتروني, كترونية, عنوان, شركة, للشركة, شركات, مؤسسة, منظمة, عميل, عملاء, زبون, حساب, جهة, اتصال, اسم, رابط, رسمي, عمل, مورد, انترنت',
    foreign:
      'شعار, صورة, حالة, تاريخ, وقت, نوع, عدد, رقم, شخصي, خاص, مالك, مسؤول, رمز, بريدي, فيسبوك, تويتر, لينكد',
  },
  hebrew: {
    domain: 'דומיין, דומיינים, שם דומיין, שם מתחם, מתחם',
    web: 'אתר, האתר, אתר אינטרנט, אתר האינטרנט, אתר הבית, דף הבית, דף אינטרנט, כתובת אתר, כתובת האתר, אתר החברה, אינטרנט',
    email: 'דואל, דוא ל, אימייל, אי מייל, מייל, דואר אלקטרוני, כתובת מייל',
    neutral:
      'כתובת, חברה, החברה, ארגון, עסק, לקוח, הלקוח, איש, קשר, שם, של, קישור, רשמי, עבודה, ספק',
    foreign:
      'לוגו, תמונה, סטטוס, מצב, תאריך, שעה, סוג, מספר, כמות, אישי, פרטי, בעלים, אחראי, מיקוד, סיסמה, פייסבוק, לינקדאין',
  },
  japanese: {
    domain: 'ドメイン, ドメイン名, ホスト名',
    web: 'サイト, ウェブサイト, ウエブサイト, ウェブ, ウエブ, ホームページ, ウェブページ, ＨＰ, サイトアドレス, トップページ',
    email: 'メール, メールアドレス, e メール, 電子メール, メアド, イーメール',
    neutral:
      '会社, 企業, 法人, 貴社, 御社, 自社, 取引先, 顧客, お客様, 連絡先, 担当者, 担当, 部署, 代表, 公式, 勤務先, 業務用, 仕事, 組織, 団体, 店舗, 名, 名称, 日本, 日本語, アドレス, リンク, 先, の, 用',
    foreign:
      'ロゴ, 画像, 写真, アイコン, 配信, 停止, 拒否, 許可, 可否, 状態, ステータス, 日, 日付, 日時, 件数, 数, 種別, 種類, 区分, 番号, 個人, プライベート, 自宅, 所有者, 採用, 求人, プライバシー, ポリシー, フラグ, パスワード, ツイッター, フェイスブック, インスタグラム, 登録, 更新, 作成, 旧, 予備, 参照, 流入, 会議, 予約',
  },
  chinese: {
    domain: '域名, 主域名, 网域, 網域, 網域名稱, 网域名称, 域',
    web: '网站, 網站, 网址, 網址, 官网, 官網, 官方网站, 官方網站, 主页, 主頁, 首页, 首頁, 网页, 網頁, 站点, 站點, 网络地址',
    email:
      '邮箱, 郵箱, 邮件, 郵件, 邮件地址, 郵件地址, 电子邮件, 電子郵件, 电子邮箱, 電子郵箱, 电子信箱, 電子信箱, 信箱, 电邮, 電郵, 邮址, 电子邮件地址, 電子郵件地址',
    neutral:
      '公司, 企业, 企業, 单位, 單位, 机构, 機構, 组织, 組織, 客户, 客戶, 账户, 帳戶, 联系人, 聯絡人, 聯繫人, 联系, 聯絡, 供应商, 供應商, 厂商, 廠商, 地址, 位址, 名称, 名稱, 名, 官方, 工作, 商务, 商務, 办公, 辦公, 主要, 的, 链接, 連結, 鏈接',
    foreign:
      '图片, 圖片, 图标, 圖標, 标志, 標誌, 徽标, 徽標, 照片, 状态, 狀態, 日期, 时间, 時間, 数量, 數量, 类型, 類型, 编号, 編號, 个人, 個人, 私人, 退订, 退訂, 订阅, 訂閱, 邮编, 郵編, 邮政编码, 郵遞區號, 微博, 微信, 公众号, 公眾號, 招聘, 隐私, 隱私, 负责人, 負責人, 密码, 密碼, 备用, 備用, 其他, 来源, 來源, 会议, 會議',
  },
  korean: {
    domain: '도메인, 도메인명, 도메인주소',
    web: '웹사이트, 웹 사이트, 홈페이지, 웹페이지, 웹 페이지, 사이트, 누리집, 웹주소, 웹, 인터넷주소, 인터넷',
    email: '이메일, 메일, 전자우편, 전자메일, 이메일주소, 메일주소',
    neutral:
      '회사, 기업, 기업체, 법인, 고객, 고객사, 업체, 거래처, 담당자, 기관, 단체, 주소, 대표, 공식, 업무, 업무용, 직장, 링크, 이름, 명, 의, 용',
    foreign:
      '로고, 이미지, 사진, 상태, 일자, 날짜, 일시, 수신, 거부, 동의, 여부, 개인, 유형, 종류, 개수, 횟수, 번호, 소유자, 채용, 비밀번호, 페이스북, 인스타그램, 블로그, 등록, 수정, 기타, 유입, 회의',
  },
  'vietnamese, indonesian and thai': {
    domain: 'tên miền, miền, nama domain, ranah, โดเมน, ชื่อโดเมน',
    web: 'trang web, trang chủ, địa chỉ web, mạng, situs, situs web, laman, laman web, alamat situs, เว็บไซต์, เว็บ, โฮมเพจ, หน้าเว็บ',
    email: 'thư điện tử, hộp thư, surel, alamat surel, อีเมล, อีเมล์, อีเมลล์',
    neutral:
      'công ty, doanh nghiệp, khách hàng, địa chỉ, tên, perusahaan, pelanggan, alamat, nama, kantor, resmi, บริษัท, ลูกค้า, ที่อยู่, ชื่อ, องค์กร, ลิงก์',
    foreign:
      'ảnh, trạng thái, ngày, loại, số, cá nhân, gambar, foto, tanggal, jenis, jumlah, pribadi, pemilik, รูปภาพ, โลโก้, สถานะ, วันที่, ประเภท, ส่วนตัว',
  },
};
