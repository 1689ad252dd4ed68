import { describe, expect, it } from 'vitest';
import { createDomainReader, normalizeDomain } from '../../../src/rows/domain/domain.ts';

const read = createDomainReader({ column: { name: 'Website' } });
const reduced = createDomainReader({ column: { name: 'Website' }, registrable: true });

/**
 * Cells, and what is looked up for them: the domain, or behind `!` the reason why there is none.
 * Cells of a line are parted by `¦`; what cannot be seen is written as `\\u0020`.
 */
const CELLS = String.raw`
# a domain is found bare, in any case, with or without a trailing dot
example.com < example.com ¦ Example.COM ¦ example.com.
shop.example.co.uk < shop.example.co.uk ¦ SHOP.EXAMPLE.CO.UK.
# a domain is found in a URL of any scheme, however its slashes are written
example.com < https://example.com ¦ HTTPS:\\example.com ¦ http:/example.com ¦ ftp://example.com/file.txt
example.com < //example.com/path ¦ \\example.com\share
# a domain is found in a URL whose scheme has a slip in it, or is there twice
example.com < http:// www.example.com ¦ https:// example.com/ ¦ http//example.com ¦ https;//example.com
example.com < htp//example.com ¦ http://http//example.com ¦ https://https://https://www.example.com
example.com < https%3A%2F%2Fwww.example.com%2Fabout
# a domain is found before a path, query or fragment, with or without a scheme
example.com < example.com/ ¦ example.com/a/b.html?x=1#y ¦ example.com?ref=a@b.org ¦ example.com#top
example.com < https://example.com/some path with spaces
# a domain is found before a port and behind credentials
example.com < example.com:8080 ¦ https://example.com:443/x ¦ https://user:password@example.com:8443/
# a domain is found in an e-mail address, alone, named or as mailto
example.com < jane@example.com ¦ Jane.Doe+tag@EXAMPLE.com ¦ Jane Doe <jane@example.com>
example.com < "Doe, Jane" <jane@example.com> ¦ mailto:jane@example.com?subject=hello ¦ <https://example.com/>
# a domain is found inside white space, invisible characters and quotes of many kinds
example.com < \u0020 example.com\u0009\u000d\u000a ¦ \u00a0example.com\u00a0 ¦ \u200bexample.com\u200b
example.com < \u202aexample.com\u202c ¦ example.com\u0000\u0000 ¦ "example.com" ¦ 'example.com' ¦ „example.com“
example.com < «example.com» ¦ " \u00a0'https://example.com/' "
xn--ber-goa.de < über.de\u00a0
# a domain is found in other scripts, as the ASCII name that DNS knows
xn--mller-kva.de < "HTTPS://www.Müller.de/impressum" ¦ MÜLLER.DE ¦ xn--mller-kva.de ¦ XN--MLLER-KVA.de
xn--strae-oqa.de < straße.de
xn--85x722f.xn--55qx5d.cn < 食狮.公司.cn ¦ 食狮。公司。cn ¦ 食狮．公司｡cn。
example.com < ｅｘａｍｐｌｅ．ｃｏｍ ¦ example。com
# a domain is found with any dash for a hyphen
acme-corp.com < www.acme‐corp.com ¦ www.acme‑corp.com ¦ www.acme‒corp.com ¦ www.acme–corp.com ¦ www.acme—corp.com
acme-corp.com < www.acme―corp.com ¦ www.acme−corp.com ¦ www.acme﹘corp.com ¦ www.acme﹣corp.com ¦ www.acme－corp.com
acme-corp.com < info@acme–corp.com ¦ https://acme‑corp.com/a
# a domain is found with underscores in a subdomain
my_shop.example.com < my_shop.example.com
_dmarc.example.com < _dmarc.example.com
# a domain is found under a suffix that a company lends out, and as that suffix
github.io < github.io
foo.github.io < https://foo.github.io/
# an address is read: a text that is a formula
example.com < ="www.example.com" ¦ ="https://example.com/" ¦ =HYPERLINK("https://example.com","Example Inc.")
example.com < '=HYPERLINK("https://example.com";"Example") ¦ =HIPERVÍNCULO("https://example.com")
# an address is read: one that is clearly an address, with other words around it
example.com < Example Inc. https://example.com ¦ https://example.com, Example Inc. ¦ Web: www.example.com
!several_domains < Example.org, a company: https://example.com
!contains_space < Example Inc .com ¦ Example .NET ¦ A. Bank ¦ Acme. com
# an address is read: one that is labelled, in an object, spelled so that nobody clicks on it, or of all hosts
example.com < URL: example.com ¦ Company website: www.example.com ¦ {"domain":"example.com"}
example.com < Website:example.com ¦ 网站：example.com ¦ Web:https://example.com/de
example.com < [{"id":1,"url":"https:\/\/example.com\/"}] ¦ {'site': 'example.com', 'x': 1}
example.com < example[.]com ¦ hxxps://example[.]com/x ¦ jo (at) example (dot) com ¦ *.example.com
# an address is read: a link of Access, with or without a text
example.com < #http://www.example.com# ¦ Example#http://example.com#
example.com < Example AG#http://www.example.com##Visit Example# ¦ #https://example.com/en#
# an address is read: a link of Markdown, HTML or a chat
example.com < [Example Inc.](https://example.com "our site")
example.com < <a class="x" href="https://www.example.com/?a=1&amp;b=2">Example Inc.</a>
example.com < <p><a href='http://example.com'>example.com</a></p> ¦ example.com<br/> ¦ example.com&nbsp;
example.com < <https://example.com|Example> ¦ Jane Doe <jane@example.com><br> ¦ https://example.com>
# an address is read: what a link shows, if that is a domain itself
example.com < [example.com](https://bit.ly/2xyz) ¦ <a href="https://facebook.com/example">example.com</a>
example.com < =HYPERLINK("https://facebook.com/example","example.com")
# an address is read: one address in a list or in brackets
example.com < ["example.com"] ¦ ["https:\/\/example.com\/"] ¦ (example.com) ¦ example.com,
# an address is read: several that agree on one domain, whatever is between them
example.com < example.com, www.example.com ¦ https://example.com/a;https://example.com/b
example.com < example.com|EXAMPLE.com ¦ example.com / example.com ¦ ["example.com","www.example.com"]
example.com < A <a@example.com>, B <b@example.com> ¦ example.com, shop.example.com
example.com < example.com or www.example.com ¦ example.com; n/a
shop.example.com < shop.example.com; https://shop.example.com/x
# an address is read: one beside pages of others, or of an e-mail address that anybody can have
example.com < https://www.facebook.com/example, https://example.com
example.com < example.com; https://www.linkedin.com/company/example; https://bit.ly/3abc
example.com < jo@gmail.com / www.example.com
!several_domains < a.com, b.com, facebook.com/a ¦ jo@a.com; b.com ¦ https://facebook.com/a, https://bit.ly/b
# an address is read: and a path that looks like one is a path
example.com < example.com/index.do ¦ example.com/readme.md ¦ example.com/index.pl ¦ example.com/shop/example.org
example.com < https://example.com/example.org ¦ https://example.com/en/https://example.org
example.com < example.com?ref=example.org ¦ example.com/1.2.3
# a link that wraps another is none where a site of its own sends visitors elsewhere
example.com < https://example.com/login?next=https://sso.example.net
# www. is taken off, as often as it stands there
example.com < www.example.com ¦ WWW.example.com ¦ www.www.example.com
shop.example.com < www.shop.example.com
# www. stays where nothing registrable would remain
www.com < www.com ¦ https://www.com/ ¦ www.www.com
www.co.uk < www.co.uk ¦ www.www.co.uk
www.ck < www.ck
# a cell is refused as empty when nothing is left in it
!empty <  ¦ \u0020 \u0020 ¦ \u00a0 ¦ \ufeff ¦ "" ¦ “ ” ¦ \u0000 ¦ http:// ¦ https:// ¦ <> ¦ // ¦ [] ¦ {} ¦ [""]
!empty < ,
# a cell is refused as empty when it says that there is nothing
!empty < N/A ¦ n/a ¦ #N/A ¦ #REF! ¦ #DIV/0! ¦ #NOM? ¦ null ¦ (null) ¦ \N ¦ (blank) ¦ NaT ¦ www. ¦ http://www.
!empty < https://www. ¦ <null> ¦ -------------------- ¦ n/a; n/a ¦ - / - ¦ none ¦ - ¦ – ¦ -- ¦ ? ¦ FALSE ¦ Falsch
!empty < no website ¦ Keine Webseite ¦ No ¦ sin sitio web ¦ нет сайта ¦ closed ¦ permanently closed ¦ geschlossen
!empty < n.v.t. ¦ ei ole ¦ yok ¦ nincs ¦ žádný ¦ なし ¦ 无 ¦ 없음 ¦ không có ¦ none found
!empty < 0 ¦ 0,00 ¦ =FALSE ¦ NaN
# a cell is refused as an IP address, of either version, in any dress
!ip_address < 192.0.2.1 ¦ http://192.0.2.1:8080/x ¦ root@192.0.2.1 ¦ １９２.0.2.1 ¦ 2001:db8::1 ¦ ::1
!ip_address < [2001:db8::1] ¦ [::1]:80 ¦ https://[2001:db8::1]:443/x ¦ 10.0.0.0/8
# a cell is refused as a single label
!single_label < localhost ¦ http://localhost:3000/ ¦ Acme ¦ com ¦ 株式会社 ¦ Acme&Co ¦ jane@localhost ¦ localhost.
!single_label < example…com
# a cell is refused as a bare public suffix
!public_suffix < co.uk ¦ CO.UK. ¦ https://co.uk/ ¦ c.kobe.jp ¦ 公司.cn
# a cell is refused as containing spaces when it is a name
!contains_space < Acme Corporation ¦ St. John ¦ Acme.com, Inc. ¦ exam%20ple.com
# a cell is refused as of several domains, whatever is between them
!several_domains < a.com b.com ¦ a.com & b.com ¦ a.com, b.com ¦ a.com / b.com ¦ https://a.com/ https://b.com/
!several_domains < http://a.org/,http://a.org/about/,http://b.net/a ¦ a.com/start,b.com
!several_domains < A <a@a.com>, B <b@b.com> ¦ a@a.com;b@b.com ¦ ["a.com","b.com"] ¦ foo.github.io bar.github.io
# a cell is refused as of an unknown top-level domain
!unknown_tld < shop.local ¦ example.example ¦ a.test ¦ www.notatld ¦ x.onion
# a cell is refused as malformed otherwise
!malformed < acme.com&#9999999; ¦ a..b.com ¦ .example.com ¦ example.com.. ¦ -a.com ¦ a-.com ¦ foo_bar.com
!malformed < a!b.com ¦ =VLOOKUP("key.com",A:B,2) ¦ =IMAGE("https://example.com/a.png") ¦ example.com:http ¦ https%3A%2F%2Facme.com%ZZ ¦ jo@a.com@b.com ¦ a%2Fb.com
!malformed < \ud800.com ¦ a\u0000b.com
# a cell is refused as malformed when a sign in it is sold by no registry
!malformed < •acme.com ¦ acme®.com ¦ acme™.com ¦ acme’s.com ¦ a²b.com ¦ i❤.ws ¦ ☕.com ¦ xn--i-7iq.ws
xn--collectiu-2pa.cat < col·lectiu.cat
# an e-mail address where everybody can have one is none of a company
!free_mail < jo@gmail.com ¦ Jo Doe <Jo.Doe@GMAIL.com> ¦ mailto:jo@hotmail.co.uk ¦ jo@gmx.ch ¦ jo@tutanota.com
# an e-mail address of a company counts, also at a provider whose people have it
acme.com < jo@acme.com
mail.acme.com < jo@mail.acme.com
facebook.com < jo@facebook.com
# a website at a domain of free mail is one
gmail.com < gmail.com ¦ https://jo@gmail.com/x
# a link that wraps another is read for its target
example.com < https://www.google.com/url?q=https://www.example.com/&sa=U&ved=abc
example.com < https://www.google.co.uk/url?sa=t&amp;url=https%3A%2F%2Fexample.com%2Fabout&amp;usg=x
example.com < https://r.clutch.co/redirect?provider_id=0&u=https%3A%2F%2Fexample.com%2F&link_type=visit
example.com < https://www.g2.com/external_clickthroughs/record?secure%5Burl%5D=https%3A%2F%2Fexample.com
example.com < https://linkprotect.cudasvc.com/url?a=https%3a%2f%2fwww.example.com&c=E,1,xyz&typo=1
example.com < https://l.facebook.com/l.php?u=https%253A%252F%252Fexample.com
example.com < https://nam02.safelinks.protection.outlook.com/?url=http%3A%2F%2Fwww.example.com%2F&data=05
example.com < https://urldefense.com/v3/__https://www.example.com/about__;!!abc$
example.com < https://urldefense.us/v3/__https://www.example.com__;!!abc$
example.com < https://web.archive.org/web/20200101/http://www.example.com:80/
# an address in a link of a host that is not known to lead elsewhere is not where it leads
example.com < https://example.com/tracking?carrier=https://www.example.org/x ¦ https://example.com/redirect?u=https://b.org
# a page on a host that many share says nothing about a company
!shared_host < https://www.facebook.com/acme ¦ https://m.facebook.com/profile.php?id=1 ¦ de.linkedin.com/company/acme/
!shared_host < https://github.com/acme/about ¦ https://linkedin.com/in/about ¦ https://github.com/about.me ¦ https://twitter.com/#!/acme ¦ https://bit.ly/3abc ¦ https://apps.apple.com/de/app/acme/id1
!shared_host < https://maps.google.com/?cid=123 ¦ https://www.google.de/maps/place/Acme
!shared_host < https://www.amazon.co.uk/stores/Acme ¦ https://us02web.zoom.us/j/123 ¦ https://www.microsoft.com/p/acme/9
!shared_host < https://www.npmjs.com/~acme ¦ https://www.tumblr.com/acme ¦ https://duckduckgo.com/?q=acme
!shared_host < https://acme-de.translate.goog/?_x_tr_sl=de ¦ facebook.com/acme.com
!shared_host < https://pitchbook.com/profiles/company/1 ¦ https://www.wlw.de/de/firma/acme-1 ¦ https://rb.gy/a1
!shared_host < https://app.hubspot.com/contacts/1 ¦ https://share.google/abc ¦ https://web.archive.org/web/2020*/acme
# a link whose target does not stand in it, is no domain, or is such a page too, is shared
!shared_host < https://acme.us1.list-manage.com/track/click?u=abc&id=1 ¦ https://l.facebook.com/l.php?u=https%3A%2F%2F192.0.2.1
!shared_host < https://l.facebook.com/l.php?u=https%3A%2F%2Fbit.ly%2Fabc ¦ https://urldefense.proofpoint.com/v2/url?u=https-3A__acme.com_about
# a front page, a page of its own, and another host are not shared
linkedin.com < linkedin.com
facebook.com < https://www.facebook.com/ ¦ https://www.facebook.com/acme, facebook.com
tripadvisor.com < https://www.tripadvisor.com/index.html
google.com < https://www.google.com/about
amazon.de < https://www.amazon.de/-/en/about
github.com < https://github.com/about ¦ https://github.com/about/press ¦ https://github.com/careers.html
amazon.com < https://www.amazon.com/careers
indeed.com < indeed.com/about
microsoft.com < https://www.microsoft.com/products
developer.apple.com < https://developer.apple.com/programs/
acme.tumblr.com < https://acme.tumblr.com/about
myfacebook.com < https://myfacebook.com/acme
acme.com < https://acme.com/facebook.com/
`;

const facts = CELLS.trim()
  .split(/^# /m)
  .slice(1)
  .map((fact) => fact.trimEnd().split('\n'));

it.each(facts)('%s', (...[, ...lines]: readonly string[]) => {
  for (const line of lines) {
    const [, expected = '', cells = ''] = /^(\S+) <(?: (.*))?$/.exec(line) ?? [];
    for (const written of cells.split(' ¦ ')) {
      const cell = written.replaceAll(/\\u([0-9a-f]{4})/g, (_, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      );
      const found = expected.startsWith('!')
        ? { invalid: expected.slice(1) }
        : { domain: expected };
      expect(read(cell), line).toEqual(found);
      // What has no domain has none when it is reduced, for the same reason.
      if ('invalid' in found) expect(reduced(cell), line).toEqual(found);
    }
  }
});

it.each([
  ['malformed', `${'a'.repeat(64)}.com`],
  ['malformed', `${'ü'.repeat(63)}.com`],
  ['malformed', `${`${'a'.repeat(63)}.`.repeat(3)}${'b'.repeat(58)}.com`],
  ['malformed', 'a'.repeat(1_000_000)],
  ['malformed', `${'ü.'.repeat(1_000_000)}com`],
  ['empty', ' '.repeat(100)],
])('a cell is refused as %s', (invalid, cell) => {
  expect(read(cell)).toEqual({ invalid });
});

it('links within links are followed five times', () => {
  const chain = (links: number): string =>
    `${'https://www.google.com/url?q='.repeat(links)}https://example.com`;
  expect(read(chain(5))).toEqual({ domain: 'example.com' });
  for (const links of [6, 1_000]) {
    expect(normalizeDomain(chain(links))).toEqual({ domain: 'google.com' });
  }
});

it.each([
  ['a.b.example.co.uk', 'example.co.uk'],
  ['https://mail.google.com/x', 'google.com'],
  ['r_d.example.com', 'example.com'],
  ['www.co.uk', 'www.co.uk'],
  ['jo@shop.acme.co.uk', 'acme.co.uk'],
  // The name of a tenant under a suffix that a company lends out, and the company behind it.
  ['a.foo.github.io', 'foo.github.io'],
  ['foo.github.io', 'foo.github.io'],
  ['github.io', 'github.io'],
  ['s3.amazonaws.com', 'amazonaws.com'],
])('%s is reduced to %s', (cell, domain) => {
  expect(reduced(cell)).toEqual({ domain });
});

describe('of free mail is', () => {
  it('a city of a provider, also when it is reduced', () => {
    expect(reduced('jo@uk.yahoo.com')).toEqual({ invalid: 'free_mail' });
  });

  it('a domain alone in a column that is named for e-mail', () => {
    const reader = createDomainReader({ column: { name: 'Email Domain' } });
    expect(reader('gmail.com')).toEqual({ invalid: 'free_mail' });
    expect(reader('acme.com')).toEqual({ domain: 'acme.com' });
  });
});
