import { describe, expect, it } from 'vitest';
import { guessDomainColumn } from '../../../src/rows/columns/domain-column.ts';

const NAMES = ['acme', 'bolt', 'core-labs', 'delta', 'evergreen', 'foxtrot'];
const TLDS = ['com', 'de', 'co.uk', 'com.br', 'co.jp', 'org'];
const hosts = NAMES.map((name, at) => `${name}.${TLDS[at]}`);

const CELLS: Readonly<Record<string, readonly string[]>> = {
  '': ['Acme Corp', 'Jo Doe', '4711', 'Ulm', '', '+49 731 123456'],
  d: hosts,
  w: hosts.map((host, at) => (at === 4 ? '' : `https://www.${host}/`)),
  e: hosts.map((host) => `info@${host}`),
  o: hosts.map((_, at) => `rep${at}@seller.com`),
  p: NAMES.map((name) => `https://www.network.com/company/${name}`),
  l: hosts.map((host) => `https://cdn.${host}/logo.png`),
  f: hosts.map((host, at) => (at % 2 === 0 ? `https://${host}/form` : '')),
  r: ['google.com', 'bing.com', '', 'calls.example.org', 'google.com', 'news.co.uk'].map(
    (host) => host && `https://www.${host}/`,
  ),
  x: hosts.map(() => ''),
};

interface Column {
  readonly mark: string;
  readonly name: string;
  readonly kind: string;
}

function columnsOf(set: string): readonly Column[] {
  return set.split('|').map((column) => {
    const [, mark = '', name = '', kind = ''] = /^([*+]?)(.*?)(?:#(\w))?$/.exec(column) ?? [];
    return { mark, name, kind };
  });
}

function meantOf(columns: readonly Column[]): string {
  const meant = columns.find(({ mark }) => mark !== '');
  if (!meant) throw new TypeError('a set of headers says what is meant');
  return meant.name;
}

describe('by names and cells', () => {
  it.each(HEADER_SETS)('%s', (set) => {
    const columns = columnsOf(set);
    const names = columns.map(({ name }) => name);
    const rows = hosts.map((_, row) => columns.map(({ kind }) => CELLS[kind]?.[row] ?? ''));
    expect(guessDomainColumn(names, rows)?.name).toBe(meantOf(columns));
  });
});

describe('by names alone', () => {
  const told = HEADER_SETS.filter((set) => set.includes('*') && !set.includes('#x'));

  it.each(told)('%s', (set) => {
    const columns = columnsOf(set);
    const names = columns.map(({ name }) => name);
    expect(guessDomainColumn(names, [])?.name).toBe(meantOf(columns));
  });
});

/**
 * Headers as CRMs, offices and people write them, columns separated by `|`. The one that is to be
 * taken begins with `*`; with `+`, it takes cells to tell. What is in the cells is said behind `#`: d
 * domains, w websites, e e-mail addresses, o e-mail addresses of one's own people, p profiles, l
 * pictures at the companies' own domains, f web forms, r sites that people came from or meet at, x
 * nothing; without it, words.
 */
export const HEADER_SETS: readonly string[] = [
  // CRMs and sales tools
  'Record ID|Company name|*Company Domain Name#d|Website URL#w|Company owner#o|Create Date|Phone Number|LinkedIn Company Page#p',
  'Record ID|First Name|Last Name|*Email#e|Phone Number|Contact owner#o|Associated Company|Last Activity Date',
  'Record ID|First Name|Last Name|Email#e|*Website URL#w|Email Domain#d|Contact owner|Twitter Username',
  'First Name|Last Name|Email#e|Job Title|Phone|*Company Domain Name#d|Contact owner|Lifecycle Stage|Customer segment',
  'First Name|Last Name|Email#e|Company Name|*Company Domain Name#d|Email Status|GTM_Tier|GTM_Signal_Source_URL#l',
  'Company name|*Company domain name#d|Company phone number|Company Street address|Email address#e|Email Change',
  'Account ID|Account Name|*Website#w|Billing Street|Billing City|Account Owner#o|Created By#o|Last Modified Date',
  'Id|Name|*Website#w|OwnerId|CreatedById|PhotoUrl#l|Jigsaw|BillingCity|Site',
  'Lead ID|First Name|Last Name|Company|*Email#e|Email Opt Out|Lead Owner#o|Lead Source',
  'AccountId|Contact: Email#e|*Account: Website#w|Account: Owner Email#o|Contact: Mailing City',
  'Organization - ID|Organization - Name|*Organization - Website#w|Organization - Owner#o|Organization - LinkedIn profile#p',
  'Person - Name|Person - Organization|*Person - Email - Work#e|Person - Email - Home#x|Person - Email - Other#x|Person - Phone - Work',
  'Deal - Title|*Organization - Domain#d|Organization - Website#w|Person - Email - Work#e',
  '(Do Not Modify) Account|(Do Not Modify) Row Checksum|Account Name|*Website#w|E-mail#e|Owner#o',
  'accountid|name|*websiteurl#w|emailaddress1#e|ownerid|telephone1',
  'fullname|jobtitle|companyname|*emailaddress1#e|emailaddress2#x|donotemail|donotbulkemail',
  'Record Id|Account Owner.id|Account Owner#o|Account Name|Phone|*Website#w|Parent Account.id|Tag',
  'Record Id|Contact Owner|First Name|*Email#e|Secondary Email#e|Email Opt Out|Skype ID',
  'First Name|Last Name|Title|Company|Email#e|Email Status|Email Confidence|Person Linkedin Url#p|*Website#w|Company Linkedin Url#p|Facebook Url#p|Twitter Url#p',
  'Organization Name|Organization Name URL#p|+Website#w|Twitter#p|Facebook#p|LinkedIn#p|Contact Email#e|CB Rank (Company)',
  'ZoomInfo Company ID|Company Name|*Website#w|ZoomInfo Company Profile URL#p|LinkedIn Company Profile URL#p|Founded Year',
  'ZoomInfo Contact ID|Last Name|First Name|*Email Address#e|Email Domain#d|ZoomInfo Contact Profile URL#p|Company Name',
  'Name|Company Name|*Company Website#w',
  'name|*domain#d|year founded|industry|size range|locality|country|linkedin url#p|current employee estimate',
  'company_name|rank|*website#w|policy_url#w',
  'Name|Given Name|Family Name|E-mail 1 - Type|*E-mail 1 - Value#e|Phone 1 - Type|Phone 1 - Value|Organization 1 - Name',
  'Name|E-mail 1 - Label|E-mail 1 - Value#e|Organization Name|Website 1 - Label|*Website 1 - Value#w|Photo#l',
  'First Name|Last Name|Company|E-mail Address#e|E-mail Display Name|E-mail 2 Address#x|*Web Page#w|Personal Web Page#x',
  '*Email Address#e|First Name|Last Name|MEMBER_RATING|OPTIN_TIME|CONFIRM_IP|LATITUDE|LAST_CHANGED',
  'Customer ID|First Name|Last Name|*Email#e|Accepts Email Marketing|Default Address Company',
  'id|name|permalink#p|*homepage_url#w|category_list|funding_total_usd|logo_url#l',
  'Vendor|Vendor Code|*URL#w|Contact E-mail#e|Terms URL#w|Payment Terms',
  'account_id|account_name|*primary_domain#d|other_domains#x|billing_email#e',
  'company.name|*company.domain#d|contact.email#e|contact.linkedin_url#p',
  'Place Name|Rating|Reviews|Phone|Address|*Web Site#w|Google Maps URL#p|Image URL#l',
  'Company|*Web#w|Mail#e|Tel',
  'Institution|Country|*www#w|contact person',
  'Supplier|*Web address#w|E-mail address#e|Notes',
  'Employer|*Employer site#w|Careers page#w|Job title',
  'Site|Building|+Company URL#w|Site Code',
  'SCHOOL_NAME|PHONE|*WEB_ADDRESS#w|PRINCIPAL_EMAIL#e',
  'Nonprofit|EIN|*Home page#w|Donation page#f',
  'Account|+Link#w|Status',
  'Account|+Column1#d|Column2',
  '+A#w|B|C',
  'Rank|*Root Domain#d|Linking Root Domains|External Links|Open Page Rank',
  'GlobalRank|TldRank|*Domain#d|TLD|RefSubNets|RefIPs|IDN_Domain#x|PrevGlobalRank',
  'Referring page URL#l|Domain rating|+Referring domain#d|Target URL#p|Anchor',
  'First Name|*Email#e|First Referring Site#r|Last Referring Site#r|First Page Seen#r',
  'Name|*Email#e|Landing Page#r|Conversion Page#r|Referral URL#r|Lead Origin#r',
  'Invitee Name|*Email#e|Meeting Link#r|Calendar URL#r|Resume#r|Thumbnail URL#l',
  'Name|*Email#e|MX Host#r|Listing URL#r|News link#r|Review URL#r',

  // German
  'Firmenname|Straße|PLZ|Ort|Telefon|E-Mail#e|*Webseite#w',
  'Firma|Ansprechpartner|E-Mail-Adresse#e|*Internetadresse#w|Telefon|Fax',
  'Kundennummer|Name1|Name2|Strasse|PLZ|Ort|*Internet#w|Ansprechpartner|EMail#e|Bemerkung',
  'Nachname|Vorname|Fraktion|Email1#e|*Internet#w|Facebook#p|Twitter#p|Instagram#p',
  'Firma|*Firmenwebsite#w|Logo-URL#l|Zuständiger Mitarbeiter#o',
  'Unternehmen|*Unternehmensdomain#d|E-Mail geschäftlich#e|E-Mail privat#e',
  'Firma|Anrede|Vorname|Nachname|*E-Mail-Adresse#e|E-Mail: Angezeigter Name|E-Mail 2: Adresse#x|Besitzer',
  'Name|*Homepage#w|Datenschutz-URL#w|Impressum-URL#w',
  'Lieferant|Kreditorennr.|*Web-Adresse#w|Mailadresse#e',
  'Verein|Vorsitzender|*Domäne#d|Mitglieder',
  'Betrieb|Branche|*Internetauftritt#w|Bild#l|Profil#p',
  'Interessent|*Hauptdomain#d|weitere Domains#x|Newsletter-Anmeldung',

  // Dutch
  'Bedrijfsnaam|Adres|Postcode|Plaats|Telefoon|E-mailadres#e|*Website#w',
  'Organisatie|*Bedrijfswebsite#w|Contactpersoon|Emailadres#e|LinkedIn-pagina#p',
  'Klant|KvK-nummer|*Internetadres#w|Eigenaar#o',
  'Relatie|*Domeinnaam#d|Status|Datum',

  // Nordic
  'Kontaktnavn|Adresse|Postnummer|By|CVR-nummer|Telefon|E-mail#e|Att. person|*Hjemmeside#w|Betalings metode',
  'organisasjonsnummer|navn|forretningsadresse.kommune|naeringskode1.kode|epostadresse#e|*hjemmeside#w|sisteInnsendteAarsregnskap',
  'Företagsnamn|Ort|*Hemsida#w|Mejladress#e|Telefon',
  'Kontakt|Företag|*E-postadress#e|Mobil',
  'Nimi|Osoite|*WWW-osoite#w|Kuva#l',

  // French
  'Nom Office|Téléphone|Email#e|Adresse|Code Postal|Ville|Nom Notaire|Statut|*Site Internet#w|Langues Parlées',
  "Entreprise|SIRET|*Site web de l'entreprise#w|Courriel#e|Page LinkedIn#p",
  'Raison sociale|*Nom de domaine#d|Contact|Adresse e-mail#e',
  'Compte|Propriétaire du compte#o|*Site Web#w|Adresse de facturation',
  'ENTREPRISE|*URL DU SITE#w|URL DU LOGO#l',

  // Spanish and Portuguese
  'Nombre Empresa|Nombre Contacto|Cargo|Email#e|*Sitio Web#w|Nivel de Necesidad|Motivo|Redes Sociales#p',
  'ID|Nombre Comercial|Sector / Nicho|Teléfono|Email#e|Ciudad|Comunidad|*Sitio Web#w|Estado / Oportunidad|Fecha Registro',
  'Empresa|CNPJ|*Site#w|E-mail#e|Telefone|Cidade',

  // Italian
  'Azienda|Indirizzo|Comune|Provincia|CAP|Telefono|Fax|*Sito Web#w|Email#e',
  'Denominazione|PEC#e|*Sito internet#w|Posta elettronica#e',
  'Ditta|PEC#e|*Indirizzo e-mail#e|Referente',

  // Polish, Czech, Slovak, Hungarian, Romanian
  'Nazwa firmy|*Strona internetowa#w|Adres e-mail#e|Opiekun klienta#o',
  'Firma|NIP|*Adres WWW#w|Poczta elektroniczna#e',
  'Witryna#x|Klient|*Domena#d|Liczba odwiedzin',

  // Turkish, Greek

  // Russian, Ukrainian, Bulgarian

  // Arabic, Hebrew

  // Japanese

  // Chinese, simplified and traditional

  // Korean

  // Others
  'Nama perusahaan|*Situs web#w|Alamat email#e|Nomor telepon',

  // In two languages, and where there is no website
  'Firma / Company|*Webseite / Website#w|E-Mail / Email#e',
  'Company|Website#x|*Email#e',
  'Firma|Webseite#x|Domain#x|*E-Mail#e',
  'Name|Owner email#o|*Email#e',
  'Company|LinkedIn URL#p|Logo URL#l|*Contact email#e',
];
