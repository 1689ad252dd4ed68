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
    const [, mark = '', name = '', kind = ''] = /^(\*?)(.*?)(?:#(\w))?$/.exec(column) ?? [];
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

/**
 * Headers as CRMs, offices and people write them, columns separated by `|`. The one that is to be
 * taken begins with `*`. What is in the cells is said behind `#`: d
 * domains, w websites, e e-mail addresses, o e-mail addresses of one's own people, p profiles, l
 * pictures at the companies' own domains, f web forms, r sites that people came from or meet at, x
 * nothing; without it, words.
 */
export const HEADER_SETS: readonly string[] = [
  // CRMs and sales tools
  'Record ID|Company name|*Company Domain Name#d|Website URL#w|Company owner#o|Create Date|Phone Number|LinkedIn Company Page#p',
  'Record ID|First Name|Last Name|*Email#e|Phone Number|Contact owner#o|Associated Company|Last Activity Date',
  'Record ID|First Name|Last Name|Email#e|*Website URL#w|Email Domain#d|Contact owner|Twitter Username',
  'First Name|Last Name|Email#e|Company Name|*Company Domain Name#d|Email Status|GTM_Tier|GTM_Signal_Source_URL#l',
  'Organization - ID|Organization - Name|*Organization - Website#w|Organization - Owner#o|Organization - LinkedIn profile#p',
  'Person - Name|Person - Organization|*Person - Email - Work#e|Person - Email - Home#x|Person - Email - Other#x|Person - Phone - Work',
  '(Do Not Modify) Account|(Do Not Modify) Row Checksum|Account Name|*Website#w|E-mail#e|Owner#o',
  'accountid|name|*websiteurl#w|emailaddress1#e|ownerid|telephone1',
  'Record Id|Account Owner.id|Account Owner#o|Account Name|Phone|*Website#w|Parent Account.id|Tag',
  'First Name|Last Name|Title|Company|Email#e|Email Status|Email Confidence|Person Linkedin Url#p|*Website#w|Company Linkedin Url#p|Facebook Url#p|Twitter Url#p',
  'Organization Name|Organization Name URL#p|*Website#w|Twitter#p|Facebook#p|LinkedIn#p|Contact Email#e|CB Rank (Company)',
  'ZoomInfo Contact ID|Last Name|First Name|*Email Address#e|Email Domain#d|ZoomInfo Contact Profile URL#p|Company Name',
  'name|*domain#d|year founded|industry|size range|locality|country|linkedin url#p|current employee estimate',
  'Name|Given Name|Family Name|E-mail 1 - Type|*E-mail 1 - Value#e|Phone 1 - Type|Phone 1 - Value|Organization 1 - Name',
  'First Name|Last Name|Company|E-mail Address#e|E-mail Display Name|E-mail 2 Address#x|*Web Page#w|Personal Web Page#x',
  '*Email Address#e|First Name|Last Name|MEMBER_RATING|OPTIN_TIME|CONFIRM_IP|LATITUDE|LAST_CHANGED',
  'account_id|account_name|*primary_domain#d|other_domains#x|billing_email#e',
  'Place Name|Rating|Reviews|Phone|Address|*Web Site#w|Google Maps URL#p|Image URL#l',
  'Site|Building|*Company URL#w|Site Code',
  '*A#w|B|C',
  'Partner Website#w|*Website#w|Vendor URL#w',
  'GlobalRank|TldRank|*Domain#d|TLD|RefSubNets|RefIPs|IDN_Domain#x|PrevGlobalRank',
  'First Name|*Email#e|First Referring Site#r|Last Referring Site#r|First Page Seen#r',
  'Name|*Email#e|Landing Page#r|Conversion Page#r|Referral URL#r|Lead Origin#r',

  // German
  'Firmenname|Straße|PLZ|Ort|Telefon|E-Mail#e|*Webseite#w',
  'Kundennummer|Name1|Name2|Strasse|PLZ|Ort|*Internet#w|Ansprechpartner|EMail#e|Bemerkung',
  'Firma|*Firmenwebsite#w|Logo-URL#l|Zuständiger Mitarbeiter#o',
  'Unternehmen|*Unternehmensdomain#d|E-Mail geschäftlich#e|E-Mail privat#e',
  'Name|*Homepage#w|Datenschutz-URL#w|Impressum-URL#w',
  'Verein|Vorsitzender|*Domäne#d|Mitglieder',
  'Interessent|*Hauptdomain#d|weitere Domains#x|Newsletter-Anmeldung',

  // Others, by their cells
  'Bedrijfsnaam|Adres|Postcode|Plaats|Telefoon|E-mailadres#e|*Website#w',
  'Kontaktnavn|Adresse|Postnummer|By|CVR-nummer|Telefon|E-mail#e|Att. person|*Hjemmeside#w|Betalings metode',
  'Nom Office|Téléphone|Email#e|Adresse|Code Postal|Ville|Nom Notaire|Statut|*Site Internet#w|Langues Parlées',
  'Empresa|CNPJ|*Site#w|E-mail#e|Telefone|Cidade',
  'Nazwa firmy|*Strona internetowa#w|Adres e-mail#e|Opiekun klienta#o',

  // In two languages, and where there is no website
  'Company|Website#x|*Email#e',
  'Firma|Webseite#x|Domain#x|*E-Mail#e',
  'Company|LinkedIn URL#p|Logo URL#l|*Contact email#e',
];
