import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { parseFragment } from 'parse5';
import { describe, expect, it } from 'vitest';
import {
  createRedactor,
  createSecrets,
  keepSecret,
  withoutCredentials,
} from '../../src/common/secrets.ts';

describe('the secrets of a process', () => {
  it('are left out of all texts, in any form', () => {
    const secrets = createSecrets(10);
    secrets.keep('key one');
    secrets.keep('key-two');
    secrets.keep(undefined);
    secrets.keep('');
    expect(secrets.without('?a=key%20one&b=key-two of key three')).toBe(
      '?a=[redacted]&b=[redacted] of key three',
    );
  });

  it('are the latest ones, as a credential is renewed again and again', () => {
    const secrets = createSecrets(2);
    for (const secret of ['key-1', 'key-2', 'key-1', 'key-3']) secrets.keep(secret);
    expect(secrets.without('key-1, key-2, key-3')).toBe('[redacted], key-2, [redacted]');
    secrets.clear();
    expect(secrets.without('key-1')).toBe('key-1');
  });
});

it('a command inherits no variable that is, names or holds a credential', () => {
  keepSecret('pass/word-1');
  keepSecret('test');
  const kept = {
    PATH: '/usr/bin',
    NODE_ENV: 'test',
    NOTE: 'no pass/word-1',
    CDN: 'https://me@cdn.com',
  };
  const ours = {
    BRANDFILL_API_KEY: 'x',
    BRANDFILL_QUEUE: 'redis://localhost',
    BRANDFILL_DASHBOARD_TOKEN: 'y',
    BRANDFILL_APP_TOKEN: 'z',
    BRANDFILL_THEN_API_KEY: 'a',
    MY_KEY: ' pass/word-1\n',
    MY_REDIS: 'redis-sentinel://:pass%2Fword-1@a,b/master',
  };
  expect(withoutCredentials({ ...kept, ...ours })).toEqual(kept);
});

/**
 * Ways to write a text, each with its own way back, written without the redactor: a server has these
 * from its libraries.
 */
const WAYS: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  'upper case': (text) => text.toUpperCase(),
  'lower case': (text) => text.toLowerCase(),
  'a URL': (text) => encodeURIComponent(text),
  'a URL, all of it': (text) => each(text, (code) => `%${code.toString(16).padStart(2, '0')}`),
  'a form': (text) => new URLSearchParams([['', text]]).toString().slice(1),
  JSON: (text) => JSON.stringify(text).slice(1, -1),
  'JSON of PHP': (text) => JSON.stringify(text).slice(1, -1).replaceAll('/', String.raw`\/`),
  'JSON, all of it': (text) =>
    each(text, (code) => `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`),
  'a string of JavaScript': (text) =>
    each(text, (code) => `\\x${code.toString(16).padStart(2, '0')}`),
  'a string of C': (text) => each(text, (code) => `\\${code.toString(8).padStart(3, '0')}`),
  'code points': (text) => each(text, (code) => `\\u{${code.toString(16)}}`),
  HTML: (text) =>
    text.replaceAll(/["'&/<=>]/g, (char) => `&#x${char.charCodeAt(0).toString(16).toUpperCase()};`),
  'HTML, decimal': (text) => each(text, (code) => `&#${code};`),
  'HTML, decimal, padded': (text) => each(text, (code) => `&#0${code};`),
  'named HTML': (text) =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('/', '&sol;')
      .replaceAll('+', '&plus;')
      .replaceAll('=', '&equals;')
      .replaceAll('_', '&lowbar;'),
  hex: (text) => Buffer.from(text).toString('hex'),
  'hex, upper case': (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'hex with colons': (text) => each(text, (code) => code.toString(16).padStart(2, '0'), ':'),
  'hex with spaces': (text) => each(text, (code) => code.toString(16).padStart(2, '0'), ' '),
  'hex of a program': (text) =>
    each(text, (code) => `0x${code.toString(16).padStart(2, '0')}`, ', '),
  base64: (text) => Buffer.from(text).toString('base64'),
  'base64 of URLs': (text) => Buffer.from(text).toString('base64url'),
  'base64 of a pair': (text) => Buffer.from(`user:${text}`).toString('base64'),
  'base64 of a sentence': (text) => Buffer.from(`no key ${text}, sorry`).toString('base64'),
  'lines of eight': (text) => text.replaceAll(/(.{8})(?=.)/gs, '$1\r\n'),
  'indented lines': (text) => text.replaceAll(/(.{5})(?=.)/gs, '$1\n    '),
  'words of four': (text) => text.replaceAll(/(.{4})(?=.)/gs, '$1 '),
  'lines of a page': (text) => text.replace(/^(.{4})/s, '$1<br>'),
  'soft hyphens': (text) => text.replace(/^(.{4})/s, '$1\u00ad'),
  'UTF-16 read as bytes': (text) => Array.from(text, (char) => `${char}\0`).join(''),
};

function each(text: string, write: (code: number) => string, between = ''): string {
  return Array.from(text, (char) => write(char.charCodeAt(0))).join(between);
}

/** The ways that change letters: what is decoded from their result afterwards is another text. */
const NOT_AFTER_BLOCKS = new Set(['upper case', 'lower case', 'lines of a page', 'soft hyphens']);
const names = Object.keys(WAYS);

/** Base64 and hex are looked for where they hold ASCII. */
function isOfAscii(inner: string | undefined, outer: string): boolean {
  return inner !== 'soft hyphens' || !/^(base64|hex)/.test(outer);
}

const key = fc.stringMatching(/^[a-zA-Z0-9._/+=:@~-]{8,40}$/).filter(isKey);

function isKey(text: string): boolean {
  // One letter again and again may overlap itself, and what looks like the mark is not looked for.
  return new Set(text.toLowerCase()).size >= 5 && !'[redacted]'.includes(text.toLowerCase());
}

function write(secret: string, ways: readonly string[]): string {
  return ways.reduce((text, way) => WAYS[way]?.(text) ?? text, secret);
}

/** Undoes all that may be undone, by libraries where there are some, until nothing changes. */
function readings(text: string): readonly string[] {
  const found = new Set([text]);
  for (const one of found) {
    if (found.size > 400) break;
    for (const undo of UNDO) {
      const undone = undo(one);
      if (undone.length >= 6) found.add(undone);
    }
  }
  return [...found].map((one) => one.replaceAll(/[\s\0\u00ad]/g, '').toLowerCase());
}

const UNDO: readonly ((text: string) => string)[] = [
  (text) => text.replaceAll(/(?:%[\da-f]{2})+/gi, (codes) => tryTo(decodeURIComponent, codes)),
  (text) =>
    text.replaceAll(/\\(?:["\\/bfnrt]|u[\da-f]{4})/gi, (escape) =>
      tryTo((one) => JSON.parse(`"${one}"`) as string, escape),
    ),
  (text) => text.replaceAll(/\\x([\da-f]{2})/gi, (_, code: string) => charOf(code, 16)),
  (text) => text.replaceAll(/\\u\{([\da-f]+)\}/gi, (_, code: string) => charOf(code, 16)),
  (text) => text.replaceAll(/\\([0-7]{3})/g, (_, code: string) => charOf(code, 8)),
  textOfPage,
  (text) =>
    text.replaceAll(/[\w+/\s-]{8,}/g, (run) => Buffer.from(run, 'base64').toString('latin1')),
  (text) =>
    text.replaceAll(/(?:(?:0x)?[\da-f]{2}[\s:,]*){4,}/gi, (run) =>
      Buffer.from(run.replaceAll(/0x|[\s:,]/gi, ''), 'hex').toString('latin1'),
    ),
];

function charOf(code: string, base: number): string {
  return String.fromCharCode(Number.parseInt(code, base));
}

function tryTo(decode: (text: string) => string, text: string): string {
  try {
    return decode(text);
  } catch {
    return text;
  }
}

function textOfPage(html: string): string {
  if (!/[&<]/.test(html)) return html;
  type Node = { readonly value?: string; readonly childNodes?: readonly Node[] };
  const textOf = (node: Node): string =>
    node.value ?? (node.childNodes ?? []).map((child) => textOf(child)).join('');
  return textOf(parseFragment(html) as Node);
}

function expectNone(text: string, secret: string): void {
  const dense = secret.toLowerCase();
  for (const reading of readings(text)) expect(reading).not.toContain(dense);
}

describe('a secret of an answer', () => {
  const secret = 'sk_live/4f9aB7+x=Q2z9';

  it.each(names)('is found when it is written as %s', (way) => {
    const said = `unknown key "${write(secret, [way])}".`;
    const clean = createRedactor([secret]).text(said);
    expectNone(clean, secret);
    expect(clean).toMatch(/^unknown key ".*\[redacted\].*"\.$/s);
  });

  it('is found in each way within each other', () => {
    const { text } = createRedactor([secret]);
    const missed: string[] = [];
    for (const first of names) {
      for (const second of names.filter((name) => !NOT_AFTER_BLOCKS.has(name))) {
        if (!isOfAscii(first, second)) continue;
        const said = `unknown key "${write(secret, [first, second])}".`;
        if (!text(said).includes('[redacted]')) missed.push(`${first} in ${second}`);
      }
    }
    expect(missed).toEqual([]);
  });

  it('is found in each JSON text, which stays JSON', () => {
    const { json } = createRedactor([secret]);
    for (const way of names) {
      const written = write(secret, [way]);
      const answer = JSON.stringify({ name: 'Acme', echo: [`got ${written}`], [written]: 1 });
      const clean = json(answer);
      expect(JSON.parse(clean), way).toMatchObject({ name: 'Acme' });
      expectNone(clean, secret);
    }
  });

  it('is found whatever it is, however it is written and whatever stands around it', () => {
    const ways = fc.array(fc.constantFrom(...names), { maxLength: 1 });
    const outer = fc.constantFrom(...names.filter((name) => !NOT_AFTER_BLOCKS.has(name)));
    const around = fc.string({ unit: 'grapheme', maxLength: 20 });
    fc.assert(
      fc.property(key, ways, outer, around, around, (aKey, inner, last, before, after) => {
        fc.pre(isOfAscii(inner[0], last));
        const said = `${before} ${write(aKey, [...inner, last])} ${after}`;
        const clean = createRedactor([aKey]).text(said);
        expect(clean).toContain('[redacted]');
        expectNone(clean, aKey);
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['a variation selector', '\ufe0f'],
    ['a joiner of graphemes', '\u034f'],
    ['a filler', '\u3164'],
    ['a blank of Braille', '\u2800'],
    ['an ellipsis', '…'],
    ['a zero-width space that was read as Windows-1252', 'â€‹'],
    ['an ideographic space in a URL', '%E3%80%80'],
    ['a variation selector in JSON', String.raw`\ufe0f`],
    ['one of two surrogates in JSON', String.raw`\udb40\udd00`],
    ['a zero-width space by its name', '&ZeroWidthSpace;'],
    ['a joiner by its name', '&zwnj;'],
    ['a thin space by its name', '&thinsp;'],
    ['a long tag', `<span class="${'a'.repeat(200)}">`],
  ])('is found with %s in it, whatever else is escaped', (_, gap) => {
    const { json, text } = createRedactor([secret]);
    const broken = `${secret.slice(0, 5)}${gap}${secret.slice(5)}`;
    for (const said of [broken, broken.replace('/', String.raw`\/`), broken.replace('=', '%3D')]) {
      expect(text(`no key ${said}.`)).toBe('no key [redacted].');
      expect(json(JSON.stringify({ said }))).toBe('{"said":"[redacted]"}');
    }
    expect(text(`no key ${secret.slice(0, 5)}${gap}${secret.slice(6)}.`)).not.toContain('[');
  });

  it('is found however long the numbers of its escapes are', () => {
    const { text } = createRedactor([secret]);
    for (const form of [
      each(secret, (code) => `&#${'0'.repeat(20)}${code};`),
      each(secret, (code) => `&#x${'0'.repeat(20)}${code.toString(16)};`),
      each(secret, (code) => `\\u{${'0'.repeat(20)}${code.toString(16)}}`),
      each(secret, (code) => `\\x{${code.toString(16)}}`),
    ]) {
      expect(text(`<${form}>`)).toMatch(/^<\[redacted\];?>$/);
    }
  });

  it.each([
    ['@~a=a@/~_', ' @~a& #x3D ;a@& #x2F ;~_ '],
    ['sk/live=key', 'sk% 2Flive% 3Dkey'],
    ['sk/live"key', String.raw`sk\ /live\ "key`],
  ])('%s is found when gaps are within its escapes: %s', (secret, text) => {
    const { json, text: clean } = createRedactor([secret]);
    expect([json(text), clean(text)].join()).not.toContain('live');
    expect(clean(text)).toContain('[redacted]');
  });

  it('is found when other ways are mixed from character to character', () => {
    const perChar = names.filter((name) =>
      /all of it|JavaScript|decimal|as it is|of C$/.test(name),
    );
    fc.assert(
      fc.property(
        key.chain((aKey) =>
          fc.tuple(
            fc.constant(aKey),
            fc.array(fc.constantFrom(...perChar), {
              minLength: aKey.length,
              maxLength: aKey.length,
            }),
          ),
        ),
        ([aKey, ways]) => {
          const mixed = Array.from(aKey, (char, at) => write(char, [ways[at] ?? 'as it is'])).join(
            '',
          );
          expect(createRedactor([aKey]).text(`key: ${mixed}!`)).toMatch(/^key: \[redacted\];?!$/);
        },
      ),
    );
  });

  it('is found behind what may be the beginning of an escape', () => {
    const { text } = createRedactor(['1abc/defg', 'nabc/defg', 'sol;abcd']);
    expect(text('at 100%41abc%2Fdefg')).toBe('at 100%4[redacted]');
    expect(text(String.raw`C:\nabc\/defg`)).toBe(String.raw`C:\[redacted]`);
    expect(text('a&sol;abcd')).toBe('a&[redacted]');
    expect(createRedactor(['t;abc/d']).text(String.raw`a&lt;abc\/d`)).toBe('a&l[redacted]');
    expect(text(String.raw`C:\nabc%252Fdefg`)).toBe(String.raw`C:\[redacted]`);
    expect(createRedactor(['1D1Acr1c']).text(String.raw`\u0041D1%41cr1c`)).toBe(
      String.raw`\u004[redacted]`,
    );
    expect(createRedactor(['eer87ru/6']).text('&#x2ee%7287ru/6')).toBe('&#x2[redacted]');
    expect(text(`50%${btoa('31%3A61%3A62%3A63%3A2f%3A64%3A65%3A66%3A67')}`)).toBe('50%[redacted]');
  });

  it('is found behind any beginning of an escape, with any escape in it', () => {
    const begun = ['\\', String.raw`\u00`, String.raw`\u004`, String.raw`\x4`, String.raw`\u{6`]
      .concat(['%', '%4', '%u00', '%25', '&', '&#4', '&#x2', '&lt', '&am', '&sol', '%5C', '&#92'])
      .flatMap((one) => [one, `${one}${one}`]);
    const ways = names.filter((name) => /all of it|JavaScript|decimal/.test(name));
    const hex = fc.stringMatching(/^[a-f0-9ntux/+=.;]{8,16}$/).filter(isKey);
    fc.assert(
      fc.property(
        fc.oneof(hex, key),
        fc.constantFrom(...begun),
        fc.constantFrom(...ways),
        fc.nat(),
        (aKey, start, way, place) => {
          const at = 1 + (place % (aKey.length - 1));
          const escaped = write(aKey.charAt(at), [way]);
          const said = `x ${start}${aKey.slice(0, at)}${escaped}${aKey.slice(at + 1)} y`;
          expect(createRedactor([aKey]).text(said)).toContain('[redacted]');
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is found when the text ends within it', () => {
    const { text } = createRedactor([secret]);
    expect(text('unknown key sk_live/4f9', true)).toBe('unknown key [redacted]');
    expect(text('unknown key sk_live/4f9', false)).toBe('unknown key sk_live/4f9');
    expect(text('unknown key sk_live%2', true)).toBe('unknown key [redacted]');
    const long = `${secret}${' or'.repeat(2_000)} sk_live`;
    expect(text(long, true)).toBe(`[redacted]${' or'.repeat(2_000)} [redacted]`);
    const early = `not ${btoa('key sk_live')} at all`;
    expect(text(early, true)).toBe(early);
    expect(text(`is it ${btoa(`a:${secret}`).slice(0, 20)}`, true)).toBe('is it [redacted]');
  });

  it('is found beside others, and within another', () => {
    const { text } = createRedactor(['ab/cdefgh/i', 'cdefgh', 'cdefghij']);
    const said = [String.raw`ab\/cdefgh\/i`, 'cdefghij', 'cdefgh', 'cdefgh'];
    expect(text(said.join(' - '))).toBe(said.map(() => '[redacted]').join(' - '));
  });

  it('is found however long it is', () => {
    const hashes = Array.from({ length: 200 }, (_, at) => createHash('sha512').update(`${at}`));
    const long = hashes.map((hash) => hash.digest('base64')).join('/');
    const { text } = createRedactor([long]);
    for (const way of [
      'as it is',
      'lower case',
      'a URL',
      'HTML',
      'hex',
      'base64',
      'words of four',
    ]) {
      expect(text(`<${write(long, [way])}>`), way).toBe('<[redacted]>');
    }
    expect(text(`<${long.slice(0, -1)}>`)).toBe(`<${long.slice(0, -1)}>`);
    expect(text(`not ${long.slice(0, 5_000)}`, true)).toBe('not [redacted]');
    expect(text(long.slice(0, 5_000))).toBe(long.slice(0, 5_000));
    const alike = `${'ab'.repeat(20)}xyz`;
    expect(createRedactor([alike]).text(`ab${alike}`)).toBe('ab[redacted]');
  });

  it('is found in hex whatever stands behind it', () => {
    const ended = 'sk_live/40'; // in 0x30
    const { text } = createRedactor([ended]);
    for (const between of [', ', ' ', '']) {
      const hex = each(ended, (code) => `0x${code.toString(16)}`, between);
      for (const after of [' X', ' x1', ' x1f', ' 0', '']) {
        expect(text(`key ${hex}${after}`), `${between}|${after}`).toContain('[redacted]');
      }
    }
  });

  it('is found when it is all that there is', () => {
    const { text } = createRedactor(['a1b2c3']);
    for (const all of ['a1b2c3', '613162326333', btoa('a1b2c3'), String.raw`\u{61}1b2c3`]) {
      expect(text(all)).toBe('[redacted]');
    }
  });

  it('may be a number, which becomes a text', () => {
    const { json } = createRedactor(['4711081599']);
    expect(json('{"id": 4711081599,"ids":[ 1, 47110815990 ]}')).toBe(
      '{"id": "[redacted]","ids":[ 1, "[redacted]" ]}',
    );
  });

  it('may be a number that is written with an exponent', () => {
    const { json, text } = createRedactor(['4711081500']);
    for (const number of ['4.7110815e9', '4.7110815E9', '4.7110815e+9', '4711081500.0']) {
      expect(json(`{"id":${number}}`), number).toBe('{"id":"[redacted]"}');
      expect(text(`no key ${number} here`), number).toMatch(/^no key \[redacted\](?:\.0)? here$/);
    }
    expect(json('{"id":4.7110815e8,"n":4.7110816e9}')).toBe('{"id":4.7110815e8,"n":4.7110816e9}');
  });

  it('may stand where it breaks the JSON rather than be seen', () => {
    expect(createRedactor(['1,2,3,4']).json('{"a":[1,2,3,4]}')).toBe('{"a":[[redacted]]}');
    expect(createRedactor(['nabcdefg']).json(String.raw`{"a":"\nabcdefg","b":1}`)).toBe(
      '{"a":"[redacted]","b":1}',
    );
  });

  it('may have letters of any language', () => {
    const { text } = createRedactor(['schlüssel-Ä€x']);
    for (const form of ['schlüssel-Ä€x', 'SCHLÜSSEL-Ä€X', encodeURIComponent('schlüssel-Ä€x')]) {
      expect(text(`<${form}>`)).toBe('<[redacted]>');
    }
    for (const form of ['base64', 'hex'] as const) {
      expect(text(Buffer.from('schlüssel-Ä€x').toString(form))).toBe('[redacted]');
    }
  });
});

describe('the redactor', () => {
  it('leaves an answer without a secret as it came, to the byte', () => {
    const { json } = createRedactor(['sk_live_4f9aB7']);
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(json(text)).toBe(text);
      }),
    );
    const kept = String.raw`{"a" : 1.0,"b":"\/ \u0041 %41 &amp; \\u{110000} &#999999999; c2tfbGl2ZQ==", "c":12345678901234567890}`;
    expect(json(kept)).toBe(kept);
  });

  it('leaves long rows of identifiers, numbers, pictures and pages as they are', () => {
    const ids = Array.from({ length: 1_000 }, (_, at) => createHash('sha256').update(`${at}`));
    const [hex, packed] = (['hex', 'base64'] as const).map((form) =>
      ids.map((id) => id.copy().digest(form)),
    );
    const numbers = ids.map((_, at) => (at * 37) % 100);
    const page = '<p class="a">R&amp;D,\\n 100%&nbsp;caf\u00e9</p>\n'.repeat(1_000);
    const svg = btoa('<path d="M 10 20 30 4"/>'.repeat(1_000));
    for (const part of [hex, packed, packed?.join(''), numbers, page, svg]) {
      const answer = JSON.stringify({ part, said: 'a\nb' });
      for (const key of ['test-key-123', 'n8Kd72mP', '4f9aB7Q2c1']) {
        expect(createRedactor([key]).json(answer)).toBe(answer);
      }
    }
  });

  it('leaves all that has no secret in an answer that has one', () => {
    const { json } = createRedactor(['sk_live_4f9aB7']);
    expect(
      json(String.raw`{ "id":12345678901234567890, "a":"\/ sk_live_4f9aB7", "b":"\u0041\/"}`),
    ).toBe(String.raw`{ "id":12345678901234567890, "a":"/ [redacted]", "b":"\u0041\/"}`);
  });

  it('hides the password of a pair alone, and leaves the user', () => {
    expect(createRedactor(['alice:s3cret']).text('user alice, password s3cret')).toBe(
      'user alice, password [redacted]',
    );
  });

  it.each(['sk_live', 'sk_live:', 'sk_live:x'])(
    'takes what stands before a colon for the secret when next to nothing follows: %s',
    (secret) => {
      expect(createRedactor([secret]).text('max, no key sk_live')).toBe('max, no key [redacted]');
    },
  );

  it('finds a short secret only as a word of messages, and never in answers', () => {
    const { text, json } = createRedactor(['info']);
    expect(text('info: no information on info, key aW5mbzo=')).toBe(
      '[redacted]: no information on [redacted], key [redacted]',
    );
    expect(json('{"info":"info"}')).toBe('{"info":"info"}');
  });

  it('takes a secret for a text and not for a pattern', () => {
    expect(createRedactor(['.*$&(x']).text('a .*$&(x b')).toBe('a [redacted] b');
    expect(createRedactor(['s3cret']).text('no such domain $& $1')).toBe('no such domain $& $1');
  });

  const units = [
    '%',
    '\\',
    '&#',
    '&amp;',
    '%25',
    '<',
    '<br>',
    '\\u005c',
    'c2tf',
    '30',
    'U',
    's ',
    '=',
  ];
  it.each([...units, '+', '\\s%', 'ÿ', '0 x'])(
    'reads a long text of %j in time that grows with it',
    (unit) => {
      const { text } = createRedactor([`sk_live_${unit}4f9aB7`]);
      const long = unit.repeat(Math.ceil(200_000 / unit.length));
      expect(text(long)).toBe(long);
    },
  );

  it('shows nothing of a text with so many escapes in escapes that it is not read to its end', () => {
    const { text, json } = createRedactor(['sk_live_4f9aB7']);
    const endless = `%${'25'.repeat(100_000)}`;
    expect(text(`said: ${endless}`)).toBe('[redacted]');
    expect(json(JSON.stringify({ endless, a: 1 }))).toBe('{"endless":"[redacted]","a":1}');
  });
});
