import { describe, expect, it } from 'vitest';
import { type InvalidReason, normalizeDomain } from '../../../src/rows/domain/domain.ts';

const NBSP = '\u00a0';
const ZERO_WIDTH_SPACE = '\u200b';
const BOM = '\ufeff';
const LEFT_TO_RIGHT = '\u202a';

function gives(domain: string, cells: readonly string[]): void {
  for (const cell of cells) {
    expect(normalizeDomain(cell), JSON.stringify(cell)).toEqual({ domain });
  }
}

function refuses(reason: InvalidReason, cells: readonly string[]): void {
  for (const cell of cells) {
    expect(normalizeDomain(cell), JSON.stringify(cell)).toEqual({ invalid: reason });
  }
}

describe('a domain is found', () => {
  it('bare, in any case, with or without a trailing dot', () => {
    gives('example.com', ['example.com', 'Example.COM', 'example.com.']);
    gives('shop.example.co.uk', ['shop.example.co.uk', 'SHOP.EXAMPLE.CO.UK.']);
  });

  it('in a URL of any scheme, however its slashes are written', () => {
    gives('example.com', [
      'https://example.com',
      'HTTPS:\\\\example.com',
      'http:/example.com',
      'ftp://example.com/file.txt',
      '//example.com/path',
      '\\\\example.com\\share',
    ]);
  });

  it('in a URL whose scheme has a slip in it, or is there twice', () => {
    gives('example.com', [
      'http:// www.example.com',
      'https:// example.com/',
      'http//example.com',
      'https;//example.com',
      'htp//example.com',
      'http://http//example.com',
      'https://https://https://www.example.com',
      'https%3A%2F%2Fwww.example.com%2Fabout',
    ]);
  });

  it('before a path, query or fragment, with or without a scheme', () => {
    gives('example.com', [
      'example.com/',
      'example.com/a/b.html?x=1#y',
      'example.com?ref=a@b.org',
      'example.com#top',
      'https://example.com/some path with spaces',
    ]);
  });

  it('before a port and behind credentials', () => {
    gives('example.com', [
      'example.com:8080',
      'https://example.com:443/x',
      'https://user:password@example.com:8443/',
    ]);
  });

  it('in an e-mail address, alone, named or as mailto', () => {
    gives('example.com', [
      'jane@example.com',
      'Jane.Doe+tag@EXAMPLE.com',
      'Jane Doe <jane@example.com>',
      '"Doe, Jane" <jane@example.com>',
      'mailto:jane@example.com?subject=hello',
      '<https://example.com/>',
    ]);
  });

  it('inside white space, invisible characters and quotes of many kinds', () => {
    gives('example.com', [
      '  example.com\t\r\n',
      `${NBSP}example.com${NBSP}`,
      `${ZERO_WIDTH_SPACE}example.com${ZERO_WIDTH_SPACE}`,
      `${LEFT_TO_RIGHT}example.com\u202c`,
      'example.com\0\0',
      '"example.com"',
      "'example.com'",
      '„example.com“',
      '«example.com»',
      `" ${NBSP}'https://example.com/' "`,
    ]);
    gives('xn--ber-goa.de', [`über.de${NBSP}`]);
  });

  it('in other scripts, as the ASCII name that DNS knows', () => {
    gives('xn--mller-kva.de', ['"HTTPS://www.Müller.de/impressum"', 'MÜLLER.DE']);
    gives('xn--strae-oqa.de', ['straße.de']);
    gives('xn--85x722f.xn--55qx5d.cn', ['食狮.公司.cn', '食狮。公司。cn', '食狮．公司｡cn。']);
    gives('example.com', ['ｅｘａｍｐｌｅ．ｃｏｍ', 'example。com']);
    gives('xn--mller-kva.de', ['xn--mller-kva.de', 'XN--MLLER-KVA.de']);
  });

  it('with any dash for a hyphen', () => {
    for (const dash of '‐‑‒–—―−﹘﹣－') gives('acme-corp.com', [`www.acme${dash}corp.com`]);
    gives('acme-corp.com', ['info@acme–corp.com', 'https://acme‑corp.com/a']);
  });

  it('with underscores in a subdomain', () => {
    gives('my_shop.example.com', ['my_shop.example.com']);
    gives('_dmarc.example.com', ['_dmarc.example.com']);
  });

  it('under a suffix that a company lends out, and as that suffix', () => {
    gives('github.io', ['github.io']);
    gives('foo.github.io', ['https://foo.github.io/']);
  });
});

describe('an address as a program exports it is read:', () => {
  it('a text that is a formula', () => {
    gives('example.com', [
      '="www.example.com"',
      '="https://example.com/"',
      '=HYPERLINK("https://example.com","Example Inc.")',
      '\'=HYPERLINK("https://example.com";"Example")',
      '=HIPERVÍNCULO("https://example.com")',
    ]);
    refuses('single_label', ['=IMAGE("https://cdn.example.com/logo.png")']);
  });

  it('a host that was typed with a space or a comma for a dot, or beside one', () => {
    gives('example.com', [
      'www,example.com',
      'www. example.com',
      'www example.com',
      'http://www .example.com',
    ]);
    refuses('contains_space', ['Example Inc .com', 'Example .NET', 'A. Bank', 'Acme. com']);
  });

  it('a link of Access, with or without a text', () => {
    gives('example.com', [
      '#http://www.example.com#',
      'Example#http://example.com#',
      'Example AG#http://www.example.com##Visit Example#',
      '#https://example.com/en#',
    ]);
  });

  it('a link of Markdown, HTML or a chat', () => {
    gives('example.com', [
      '[Example Inc.](https://example.com "our site")',
      '<a class="x" href="https://www.example.com/?a=1&amp;b=2">Example Inc.</a>',
      "<p><a href='http://example.com'>example.com</a></p>",
      'example.com<br/>',
      'example.com&nbsp;',
      '<https://example.com|Example>',
      'Jane Doe <jane@example.com><br>',
      'https://example.com>',
    ]);
  });

  it('what a link shows, if that is a domain itself', () => {
    gives('example.com', [
      '[example.com](https://bit.ly/2xyz)',
      '<a href="https://facebook.com/example">example.com</a>',
      '=HYPERLINK("https://facebook.com/example","example.com")',
    ]);
  });

  it('one address in a list or in brackets', () => {
    gives('example.com', [
      '["example.com"]',
      '["https:\\/\\/example.com\\/"]',
      '(example.com)',
      'example.com,',
    ]);
  });

  it('several that agree on one domain, whatever is between them', () => {
    gives('example.com', [
      'example.com, www.example.com',
      'https://example.com/a;https://example.com/b',
      'example.com|EXAMPLE.com',
      'example.com / example.com',
      '["example.com","www.example.com"]',
      'A <a@example.com>, B <b@example.com>',
      'example.com, shop.example.com',
      'example.com/www.example.com',
      'example.com or www.example.com',
      'example.com; n/a',
    ]);
    gives('shop.example.com', ['shop.example.com; https://shop.example.com/x']);
  });

  it('one beside pages of others, or of an e-mail address that anybody can have', () => {
    gives('example.com', [
      'https://www.facebook.com/example, https://example.com',
      'example.com; https://www.linkedin.com/company/example; https://bit.ly/3abc',
      'jo@gmail.com / www.example.com',
    ]);
    refuses('several_domains', [
      'a.com, b.com, facebook.com/a',
      'jo@a.com; b.com',
      'https://facebook.com/a, https://bit.ly/b',
    ]);
  });

  it('and a path that looks like one is a path', () => {
    gives('example.com', [
      'example.com/index.do',
      'example.com/readme.md',
      'example.com/index.pl',
      'example.com/shop/example.org',
      'https://example.com/example.org',
      'https://example.com/en/https://example.org',
      'example.com?ref=example.org',
      'example.com/1.2.3',
    ]);
  });
});

describe('a link that wraps another', () => {
  it.each([
    'https://www.google.com/url?q=https://www.example.com/&sa=U&ved=abc',
    'https://www.google.co.uk/url?sa=t&amp;url=https%3A%2F%2Fexample.com%2Fabout&amp;usg=x',
    'https://r.clutch.co/redirect?provider_id=0&u=https%3A%2F%2Fexample.com%2F&link_type=visit',
    'https://www.g2.com/external_clickthroughs/record?secure%5Burl%5D=https%3A%2F%2Fexample.com',
    'https://linkprotect.cudasvc.com/url?a=https%3a%2f%2fwww.example.com&c=E,1,xyz&typo=1',
    'https://l.facebook.com/l.php?u=https%253A%252F%252Fexample.com',
  ])('is read for its target: %s', (cell) => gives('example.com', [cell]));

  it('is none where a site of its own sends visitors elsewhere', () => {
    gives('example.com', ['https://example.com/login?next=https://sso.example.net']);
  });

  it('is followed five times', () => {
    const chain = (links: number): string =>
      `${'https://www.google.com/url?q='.repeat(links)}https://example.com`;
    gives('example.com', [chain(5)]);
    gives('google.com', [chain(6), chain(1_000)]);
  });
});

describe('www.', () => {
  it('is taken off, as often as it stands there', () => {
    gives('example.com', ['www.example.com', 'WWW.example.com', 'www.www.example.com']);
    gives('shop.example.com', ['www.shop.example.com']);
  });

  it('stays where nothing registrable would remain', () => {
    gives('www.com', ['www.com', 'https://www.com/', 'www.www.com']);
    gives('www.co.uk', ['www.co.uk', 'www.www.co.uk']);
    gives('www.ck', ['www.ck']);
  });
});

describe('a cell is refused', () => {
  it('as empty when nothing is left in it', () => {
    refuses('empty', ['', '   ', NBSP, BOM, '""', '“ ”', '\0', 'http://', 'https://', '<>', '//']);
    refuses('empty', ['[]', '{}', '[""]', ',', ' '.repeat(100)]);
  });

  it('as empty when it says that there is nothing', () => {
    refuses('empty', ['N/A', 'n/a', '#N/A', '#REF!', '#DIV/0!', '#NOM?', 'null', '(null)', '\\N']);
    refuses('empty', ['(blank)', 'NaT', 'www.', 'http://www.', 'https://www.']);
    refuses('empty', ['<null>', '-'.repeat(20), 'n/a; n/a', '- / -']);
    refuses('empty', [
      'none',
      '-',
      '–',
      '--',
      '?',
      'FALSE',
      'Falsch',
      '0',
      '0,00',
      '=FALSE',
      'NaN',
    ]);
  });

  it('as an IP address, of either version, in any dress', () => {
    refuses('ip_address', [
      '192.0.2.1',
      'http://192.0.2.1:8080/x',
      'root@192.0.2.1',
      '１９２.0.2.1',
      '2001:db8::1',
      '::1',
      '[2001:db8::1]',
      '[::1]:80',
      'https://[2001:db8::1]:443/x',
      '10.0.0.0/8',
    ]);
  });

  it('as a single label', () => {
    refuses('single_label', ['localhost', 'http://localhost:3000/', 'Acme', 'com', '株式会社']);
    refuses('single_label', ['Acme&Co', 'jane@localhost', 'localhost.', 'example…com']);
  });

  it('as a bare public suffix', () => {
    refuses('public_suffix', ['co.uk', 'CO.UK.', 'https://co.uk/', 'c.kobe.jp']);
    refuses('public_suffix', ['公司.cn']);
  });

  it('as too long', () => {
    const label = 'a'.repeat(63);
    refuses('label_too_long', [`${'a'.repeat(64)}.com`, `${'ü'.repeat(63)}.com`]);
    refuses('domain_too_long', [`${`${label}.`.repeat(3)}${'b'.repeat(58)}.com`]);
    refuses('domain_too_long', ['a'.repeat(1_000_000), `${'ü.'.repeat(1_000_000)}com`]);
  });

  it('as containing spaces when it is a name', () => {
    refuses('contains_space', [
      'Acme Corporation',
      'St. John',
      'Acme.com, Inc.',
      'Acme https://acme.com',
      'exam%20ple.com',
    ]);
  });

  it('as of several domains, whatever is between them', () => {
    refuses('several_domains', [
      'a.com b.com',
      'a.com & b.com',
      'a.com, b.com',
      'a.com / b.com',
      'https://a.com/ https://b.com/',
      'http://a.org/,http://a.org/about/,http://b.net/a',
      'a.com/start,b.com',
      'A <a@a.com>, B <b@b.com>',
      'a@a.com;b@b.com',
      '["a.com","b.com"]',
      'foo.github.io bar.github.io',
      'a.com/b.com',
      'https://a.com/https://b.com',
      'a.com&b.com',
      'a.com•b.com',
      'a.com and b.com',
      '1;#a.com;#2;#b.com',
    ]);
  });

  it('as of an unknown top-level domain', () => {
    refuses('unknown_tld', ['shop.local', 'example.example', 'a.test', 'www.notatld', 'x.onion']);
  });

  it('as malformed otherwise', () => {
    refuses('malformed', [
      'acme.com&#9999999;', // beyond all characters
      'a..b.com',
      '.example.com',
      'example.com..',
      '-a.com',
      'a-.com',
      'foo_bar.com',
      'a!b.com',
      '*.example.com',
      'example.com:http',
      'https%3A%2F%2Facme.com%ZZ',
      'jo@a.com@b.com',
      'a%2Fb.com',
      '\ud800.com',
      'a\0b.com',
    ]);
  });

  it('as malformed when a sign in it is sold by no registry', () => {
    const cells = [
      '•acme.com',
      'acme®.com',
      'acme™.com',
      'acme’s.com',
      'a²b.com',
      'i❤.ws',
      '☕.com',
    ];
    refuses('malformed', [...cells, 'xn--i-7iq.ws']);
    gives('xn--collectiu-2pa.cat', ['col·lectiu.cat']);
  });
});

describe('registrable', () => {
  const reduced = (cell: string): unknown => normalizeDomain(cell, { registrable: true });

  it('leaves one label below the public suffix', () => {
    expect(reduced('a.b.example.co.uk')).toEqual({ domain: 'example.co.uk' });
    expect(reduced('https://mail.google.com/x')).toEqual({ domain: 'google.com' });
    expect(reduced('r_d.example.com')).toEqual({ domain: 'example.com' });
    expect(reduced('www.co.uk')).toEqual({ domain: 'www.co.uk' });
  });

  it("keeps the tenant's name under a suffix that a company lends out", () => {
    expect(reduced('a.foo.github.io')).toEqual({ domain: 'foo.github.io' });
    expect(reduced('foo.github.io')).toEqual({ domain: 'foo.github.io' });
  });

  it('reduces such a suffix itself to the company behind it', () => {
    expect(reduced('github.io')).toEqual({ domain: 'github.io' });
    expect(reduced('s3.amazonaws.com')).toEqual({ domain: 'amazonaws.com' });
  });
});
