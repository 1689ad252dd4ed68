import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRedactor,
  forgetSecrets,
  keepSecret,
  redactDeep,
  toCleanJson,
  withoutCredentials,
  withoutSecrets,
} from '../../src/common/secrets.ts';

describe('the secrets of a process', () => {
  it('are left out of all texts, until they are forgotten', () => {
    for (const secret of ['key one', 'key-two', undefined, '']) keepSecret(secret);
    const text = '?a=key%20one&b=key-two of key three';
    expect(withoutSecrets(text)).toBe('?a=[redacted]&b=[redacted] of key three');
    expect(toCleanJson({ a: ['key-two'], n: 1 })).toBe('{"a":["[redacted]"],"n":1}');
    forgetSecrets();
    expect(withoutSecrets(text)).toBe(text);
  });

  it('are the latest hundred, as a credential is renewed again and again', () => {
    for (let at = 0; at < 100; at += 1) keepSecret(`key-${at}-x`);
    for (const secret of ['key-0-x', 'key-100-x']) keepSecret(secret);
    expect(withoutSecrets('key-0-x, key-1-x, key-100-x')).toBe('[redacted], key-1-x, [redacted]');
    forgetSecrets();
  });
});

it('a command inherits no variable that is, names or holds a credential', () => {
  keepSecret('pass/word-1');
  keepSecret('test');
  const kept = {
    PATH: '/usr/bin',
    NODE_ENV: 'test',
    NOTE: 'a test of its own',
    CDN: 'https://me@cdn.com',
  };
  const ours = {
    BRANDFILL_API_KEY: 'x',
    BRANDFILL_QUEUE: 'redis://localhost',
    BRANDFILL_DASHBOARD_TOKEN: 'y',
    MY_KEY: ' pass/word-1\n',
    CURL_OPTIONS: '--header "X-Key: pass/word-1"',
    SETTINGS: '{"key":"pass\\/word-1"}',
    HEADER: Buffer.from('Bearer pass/word-1').toString('base64'),
    MY_REDIS: 'redis-sentinel://:pass%2Fword-1@a,b/master',
  };
  expect(withoutCredentials({ ...kept, ...ours })).toEqual(kept);
});

/** How servers send back what they were sent. */
const FORMS: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'a URL': encodeURIComponent,
  'a URL, lower case': (secret) =>
    encodeURIComponent(secret).replaceAll(/%../g, (code) => code.toLowerCase()),
  'a form': (secret) => new URLSearchParams([['', secret]]).toString().slice(1),
  JSON: (secret) => JSON.stringify(secret).slice(1, -1),
  'JSON of PHP': (secret) =>
    JSON.stringify(secret)
      .slice(1, -1)
      .replaceAll('/', String.raw`\/`)
      .replaceAll(
        /[^\0-\x7f]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      ),
  'JSON within JSON': (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  'a URL in a URL': (secret) => encodeURIComponent(encodeURIComponent(secret)),
  'HTML within HTML': (secret) => secret.replaceAll('&', '&amp;amp;').replaceAll('<', '&amp;lt;'),
  HTML: (secret) =>
    secret
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;')
      .replaceAll("'", '&#39;'),
  'HTML, all signs': (secret) =>
    secret.replaceAll(/[^a-z\d]/giu, (char) => `&#x${(char.codePointAt(0) ?? 0).toString(16)};`),
  base64: (secret) => Buffer.from(secret).toString('base64'),
  base64url: (secret) => Buffer.from(secret).toString('base64url'),
  'the header of basic authentication': (secret) =>
    `Basic ${Buffer.from(secret.includes(':') ? secret : `${secret}:`).toString('base64')}`,
  'base64 of headers': (secret) =>
    Buffer.from(`{"authorization":"Bearer ${secret}","accept":"*"}`).toString('base64'),
  'JSON with all escaped': (secret) => escapeAll(secret, String.raw`\u`),
  'JSON with all escaped, within JSON': (secret) =>
    escapeAll(secret, String.raw`\\U`.toLowerCase()),
  'a URL with all escaped': (secret) =>
    Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&'),
  'a URL with all escaped, in a URL': (secret) =>
    Buffer.from(secret).toString('hex').replaceAll(/../g, '%25$&'),
  'HTML, all signs and letters': (secret) =>
    Array.from(secret, (char) => `&#${char.codePointAt(0)};`).join(''),
  'base64 in a URL': (secret) => encodeURIComponent(Buffer.from(secret).toString('base64')),
};

function escapeAll(secret: string, start: string): string {
  const units = secret.split('').map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'));
  return units.map((unit) => start + unit).join('');
}

const secrets = fc
  .oneof(
    fc.stringMatching(/^[\w .:/+=&<>"'@%~-]{8,40}$/),
    fc.string({ unit: 'grapheme', minLength: 8 }),
  )
  // A secret that holds the mark, or is part of it, is none.
  .filter((secret) => !/[[\]\\{}]|redacted/.test(secret) && secret.replaceAll(/\s/g, '').length > 7)
  .filter((secret) => !/\p{Cs}/u.test(secret));

describe('a redactor', () => {
  const BESIDE = String.raw`{"a":"a \u00e9 [redacted]"}`;
  const ESCAPES = String.raw`{"\u0061":"%41 &#65; \\u0041"}`;

  it('finds a secret in each form in which servers send it back', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const { text } = createRedactor([secret]);
        for (const [name, write] of Object.entries(FORMS)) {
          expect(text(`<${write(secret)}>`), name).toMatch(/\[redacted\]/);
          expect(text(`<${write(secret)}>`), name).not.toContain(write(secret));
        }
      }),
    );
  });

  it.each([
    ['a secret without its pair', 'user:pass-word', 'say pass-word', 'say [redacted]'],
    ['a key as `key:x`', 'long-key:x', 'long-key was refused', '[redacted] was refused'],
    ['a short one as a word of its own', 'abc', 'abc, abcd and xabc', '[redacted], abcd and xabc'],
    ['one with a backslash', String.raw`do\main-key`, String.raw`no do\main-key`, 'no [redacted]'],
    ['no other text', 'key-123', 'key-12 and key_123', 'key-12 and key_123'],
  ])('replaces %s', (_, secret, text, clean) => {
    expect(createRedactor([secret]).text(text)).toBe(clean);
  });

  it('leaves out the end of a text that was cut, which may be a part of a secret', () => {
    const { text } = createRedactor(['sk_live_1/2345']);
    const before = 'a'.repeat(1_000);
    for (const end of ['sk_live_1', 'sk_live_1%2', JSON.stringify('sk_live_1/2').slice(0, -1)]) {
      const clean = text(`${before} sk_live_1%2F2345 ${end}`, true);
      expect(clean).not.toContain('sk_live');
      expect(before.startsWith(clean.slice(0, 500))).toBe(true);
    }
    expect(text('bad key: sk_liv', true)).toBe('');
  });

  it.each([
    ['in a text', '{"a":"no sk-12345 here"}', '{"a":"no [redacted] here"}'],
    ['in a name', '{"sk-12345":1}', '{"[redacted]":1}'],
    ['in an escaped name', String.raw`{"s\u006b-12345":{"k":1}}`, '{"[redacted]":{"k":1}}'],
    ['escaped as a whole', String.raw`{"\u0073k\u002d12345":1}`, '{"[redacted]":1}'],
    ['beside escapes', String.raw`{"a":"\u0061 \u00e9 s\u006b-12345"}`, BESIDE],
    ['not at all, but escapes', ESCAPES, ESCAPES],
    ['not at all', '{"a":"sk-1234"}', '{"a":"sk-1234"}'],
    ['in no JSON', '{"a":sk-12345', '{"a":[redacted]'],
  ])('leaves JSON as JSON with a secret %s', (_, given, clean) => {
    expect(createRedactor(['sk-12345']).json(given)).toBe(clean);
  });

  it.each(['Bearer', 'ApiKey', 'Basic', 'X'])('finds a whole header in base64: %s', (scheme) => {
    const secret = 'sk-12345:pass-word';
    const { text } = createRedactor([secret]);
    const pair = Buffer.from(secret).toString('base64');
    for (const value of [secret, pair]) {
      const header = Buffer.from(`${scheme} ${value}`).toString('base64');
      const clean = text(`got ${header}.`);
      const left = Buffer.from(clean.slice(4).split('[redacted]')[0] ?? '', 'base64').toString();
      expect(clean).toContain('[redacted]');
      expect(left.length).toBeLessThanOrEqual(scheme.length + 1);
    }
  });

  it('turns a number that is a secret into a text', () => {
    const { json } = createRedactor(['12345678']);
    expect(json('{"key":12345678,"other":1234567,"id":"x12345678"}')).toBe(
      '{"key":"[redacted]","other":1234567,"id":"x[redacted]"}',
    );
  });

  it('leaves short secrets in answers, which they would destroy', () => {
    expect(createRedactor(['a']).json('{"a":"a"}')).toBe('{"a":"a"}');
  });

  it('copies data', () => {
    const { text } = createRedactor(['sk-12345']);
    const copy = redactDeep({ list: ['sk-12345'], count: 1 }, text);
    expect(copy).toEqual({ list: ['[redacted]'], count: 1 });
  });
});
