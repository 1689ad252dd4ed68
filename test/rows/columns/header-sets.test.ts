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
  'Vorname|*E-Mail#e|Erste verweisende Website#r|Herkunft#r|Termin-Link#r',

  // Dutch
  'Bedrijfsnaam|Adres|Postcode|Plaats|Telefoon|E-mailadres#e|*Website#w',
  'Organisatie|*Bedrijfswebsite#w|Contactpersoon|Emailadres#e|LinkedIn-pagina#p',
  'Klant|KvK-nummer|*Internetadres#w|Eigenaar#o',
  'Relatie|*Domeinnaam#d|Status|Datum',
  'Naam|Functie|*Zakelijk e-mailadres#e|Privé e-mailadres#e',
  'Naam|*E-mailadres#e|Eerste verwijzende site#r|Bron#r',

  // Nordic
  'Kontaktnavn|Adresse|Postnummer|By|CVR-nummer|Telefon|E-mail#e|Att. person|*Hjemmeside#w|Betalings metode',
  'organisasjonsnummer|navn|forretningsadresse.kommune|naeringskode1.kode|epostadresse#e|*hjemmeside#w|sisteInnsendteAarsregnskap',
  'Virksomhed|CVR|*Domæne#d|Kontaktperson|E-mailadresse#e',
  'Bedrift|Org.nr|*Nettside#w|E-postadresse#e|Eier#o',
  'Selskap|*Nettsted#w|Kontakt e-post#e|Bilde#l',
  'Företag|Organisationsnummer|*Webbplats#w|E-post#e|Ägare#o',
  'Företagsnamn|Ort|*Hemsida#w|Mejladress#e|Telefon',
  'Kund|*Domännamn#d|Kundansvarig#o',
  'Kontakt|Företag|*E-postadress#e|Mobil',
  'Yritys|Y-tunnus|*Kotisivut#w|Sähköposti#e|Puhelin',
  'Yrityksen nimi|*Verkkosivusto#w|Sähköpostiosoite#e|Omistaja#o',
  'Asiakas|*Verkkotunnus#d|Yhteyshenkilö|Tila',
  'Nimi|Osoite|*WWW-osoite#w|Kuva#l',

  // French
  'Société|Adresse|Ville|Code.Postal|Email#e|*Site Internet#w|Tel.n°1',
  'Nom Office|Téléphone|Email#e|Adresse|Code Postal|Ville|Nom Notaire|Statut|*Site Internet#w|Langues Parlées',
  "Entreprise|SIRET|*Site web de l'entreprise#w|Courriel#e|Page LinkedIn#p",
  'Raison sociale|*Nom de domaine#d|Contact|Adresse e-mail#e',
  'Compte|Propriétaire du compte#o|*Site Web#w|Adresse de facturation',
  'Nom|Prénom|*Adresse électronique#e|Téléphone|Adresse électronique personnelle#e',
  'Client|*Page d’accueil#w|Logo#l',
  'ENTREPRISE|*URL DU SITE#w|URL DU LOGO#l',
  'Fournisseur|*Domaine#d|Domaine d’activité|État',
  'Prénom|*E-mail#e|Premier site référent#r|Provenance#r',

  // Spanish and Portuguese
  'Empresa|*Sitio Web#w|Etapa|Correo electrónico#e|Contacto',
  'Nombre Empresa|Nombre Contacto|Cargo|Email#e|*Sitio Web#w|Nivel de Necesidad|Motivo|Redes Sociales#p',
  'ID|Nombre Comercial|Sector / Nicho|Teléfono|Email#e|Ciudad|Comunidad|*Sitio Web#w|Estado / Oportunidad|Fecha Registro',
  'Razón social|NIF|*Página web#w|Correo#e|Propietario#o',
  'Compañía|*Dominio de la empresa#d|URL del logotipo#l|Correo electrónico del contacto#e',
  'Cliente|Dirección|*Web#w|Mail#e|Teléfono',
  'Nombre|Apellidos|*Dirección de correo electrónico#e|Correo electrónico personal#e',
  'Cuenta|*Dirección web#w|Imagen#l|Responsable#o',
  'Empresa|CNPJ|*Site#w|E-mail#e|Telefone|Cidade',
  'Nome da empresa|*Site da empresa#w|E-mail de contato#e|Proprietário#o',
  'Conta|*Página da Web#w|Endereço de e-mail#e|Imagem#l',
  'Cliente|NIF|*Sítio web#w|Correio eletrónico#e',
  'Organização|*Domínio#d|Endereço|Situação',
  'Nome|Cargo|*Endereço eletrônico#e|E-mail pessoal#e',
  'Nombre|*Correo#e|Primer sitio de referencia#r|Origen#r',
  'Nome|*E-mail#e|Primeiro site de referência#r|Origem#r',

  // Italian
  'Codice|Ragione Sociale|P.IVA|C.F.|Email#e|Telefono|*Sito Web#w|Indirizzo|Città|Provincia|CAP',
  'Azienda|Indirizzo|Comune|Provincia|CAP|Telefono|Fax|*Sito Web#w|Email#e',
  'Nome Azienda|Score|Categoria|Telefono|Città|*Sito Web#w|Instagram#p|LinkedIn#p',
  'Denominazione|PEC#e|*Sito internet#w|Posta elettronica#e',
  'Ditta|PEC#e|*Indirizzo e-mail#e|Referente',
  'Società|*Nome dominio#d|Immagine#l|Stato',

  // Polish, Czech, Slovak, Hungarian, Romanian
  'Numer RSPO|Typ|Nazwa|Ulica|Kod pocztowy|Poczta|Telefon|Faks|E-mail#e|*Strona www#w|Województwo|Powiat|Gmina',
  'Nazwa firmy|*Strona internetowa#w|Adres e-mail#e|Opiekun klienta#o',
  'Firma|NIP|*Adres WWW#w|Poczta elektroniczna#e',
  'Kontrahent|*Domena firmy#d|Zdjęcie#l',
  'Witryna#x|Klient|*Domena#d|Liczba odwiedzin',
  'Společnost|IČO|*Webové stránky#w|E-mail#e|Telefon',
  'Název firmy|*Web#w|Elektronická pošta#e|Vlastník#o',
  'Zákazník|*Doména#d|Stav',
  'Spoločnosť|*Webová stránka#w|E-mailová adresa#e',
  'Cég neve|*Weboldal#w|E-mail cím#e|Telefonszám',
  'Vállalat|*Honlap#w|Kép#l',
  'Denumire companie|CUI|*Pagină web#w|Adresă de e-mail#e',

  // Turkish, Greek
  'Firma Adı|Vergi No|*Web Sitesi#w|E-posta#e|Telefon',
  'ŞİRKET ADI|*WEB ADRESİ#w|E-POSTA ADRESİ#e|SORUMLU KİŞİ#o',
  'Müşteri|*Alan Adı#d|Durum|Tarih',
  'Ad Soyad|Unvan|*Kurumsal e-posta adresi#e|Kişisel e-posta#e',
  'Επωνυμία|ΑΦΜ|*Ιστοσελίδα#w|Ηλεκτρονικό ταχυδρομείο#e|Τηλέφωνο',
  'ΕΤΑΙΡΕΙΑ|*ΙΣΤΟΤΟΠΟΣ#w|EMAIL#e|ΛΟΓΟΤΥΠΟ#l',
  'Πελάτης|*Διεύθυνση ιστοσελίδας#w|Υπεύθυνος#o',
  'Εταιρία|*Όνομα τομέα#d|Κατάσταση',

  // Russian, Ukrainian, Bulgarian
  'Название|ИНН|Телефон|*Сайт#w|Город|Источник',
  'компания|*сайт#w|почта#e',
  'Ссылка#p|Название|*Сайт#w|Телефон|Email#e',
  'ID|Название|Регион|Город|Адрес|Индекс|Телефон|Email#e|*Сайт#w|Рубрика|vkontakte#p|youtube#p',
  'Наименование организации|*Адрес сайта#w|Электронная почта#e|Ответственный#o',
  'Клиент|*Домен компании#d|Логотип#l',
  'ФИО|Должность|*Рабочий e-mail#e|Личный e-mail#e',
  'Контрагент|*Веб-сайт#w|Эл. почта#e|Почтовый индекс',
  'ФИО|*Адрес электронной почты#e|Телефон',
  'Назва компанії|ЄДРПОУ|*Вебсайт#w|Електронна пошта#e',
  'Організація|*Веб-сторінка#w|Ел. пошта#e|Посилання на логотип#l',
  'Клієнт|*Доменне ім’я#d|Відповідальний#o',
  'Фирма|*Уебсайт#w|Имейл#e',

  // Arabic, Hebrew
  'اسم الشركة|*الموقع الإلكتروني#w|البريد الإلكتروني#e|الهاتف',
  'الشركة|*موقع الويب#w|الايميل#e|شعار الشركة#l',
  'العميل|*اسم النطاق#d|الحالة',
  'الاسم|المسمى الوظيفي|*عنوان البريد الالكتروني#e|الجوال',
  'שם החברה|ח.פ.|*אתר אינטרנט#w|דוא"ל#e|טלפון',
  'לקוח|*כתובת האתר#w|אימייל#e|לוגו#l',
  'ארגון|*דומיין#d|סטטוס',
  'שם פרטי|שם משפחה|*כתובת דוא״ל#e|נייד',

  // Japanese
  '会社名|住所|電話番号|メールアドレス#e|*ホームページURL#w',
  '企業名|法人番号|代表者名|*企業ホームページURL#w|お問い合わせURL#f|採用URL#f|E-mail#e',
  '取引先名|業種|*Webサイト#w|担当者#o',
  '会社名|部署|氏名|*Eメール#e|携帯電話',
  '顧客名|*ドメイン#d|ロゴ画像URL#l|登録日',
  '社名|ＴＥＬ|*ＨＰ#w|ﾒｰﾙｱﾄﾞﾚｽ#e',
  '店舗名|*公式サイト#w|Instagram#p|LINE',
  '会社名|担当者名|*メール#e|メール配信停止',
  '名|*Eメール#e|最初の参照元サイト#r|流入元URL#r',
  '会社名|メールアドレス#e|*日本語サイトURL#w',

  // Chinese, simplified and traditional
  '公司名称|法定代表人|*官网#w|邮箱#e|电话|注册地址',
  '企业名称|统一社会信用代码|*网址#w|电子邮件#e|企业logo#l',
  '客户名称|*公司网站#w|联系人|联系邮箱#e|微信',
  '单位|*域名#d|备案号|负责人',
  '姓名|公司|*工作邮箱#e|个人邮箱#e|手机',
  '公司名稱|統一編號|*網站#w|電子郵件#e|電話',
  '客戶|*公司網址#w|聯絡人|電郵#e|標誌#l',
  '廠商名稱|*官方網站#w|電子信箱#e',
  '機構|*網域名稱#d|狀態',
  '姓名|職稱|*電子郵件地址#e|備註',

  // Korean
  '업체명|전화번호|이메일#e|주소|업종|지역|블로그#p|*홈페이지#w|상태',
  '회사명|종목코드|업종|대표자명|*홈페이지#w|지역',
  '기업명|사업자등록번호|*웹사이트 주소#w|담당자 이메일#e',
  '고객사|*도메인#d|로고 이미지#l|등록일',
  '이름|직책|*이메일 주소#e|이메일 수신 동의',
  '거래처|*회사 URL#w|전자우편#e|담당자',

  // Others
  'Tên công ty|*Trang web#w|Địa chỉ email#e|Số điện thoại',
  'Nama perusahaan|*Situs web#w|Alamat email#e|Nomor telepon',
  'ชื่อบริษัท|*เว็บไซต์#w|อีเมล#e|โทรศัพท์',

  // In two languages, and where there is no website
  'Firma / Company|*Webseite / Website#w|E-Mail / Email#e',
  '公司 Company|*网站 Website#w|邮箱 Email#e',
  'Company|Website#x|*Email#e',
  'Firma|Webseite#x|Domain#x|*E-Mail#e',
  'Name|Owner email#o|*Email#e',
  'Company|LinkedIn URL#p|Logo URL#l|*Contact email#e',
];
