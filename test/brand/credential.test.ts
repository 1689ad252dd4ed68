import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCredential, parseAuth } from '../../src/brand/credential.ts';

describe('parseAuth', () => {
  it.each([
    ['none', { kind: 'none' }],
    ['bearer', { kind: 'bearer' }],
    ['basic', { kind: 'basic' }],
    ['header:X-Api-Key', { kind: 'header', name: 'X-Api-Key' }],
    ['query:api_key', { kind: 'query', name: 'api_key' }],
    ['query:a.b~c', { kind: 'query', name: 'a.b~c' }],
  ])('reads %s', (spec, scheme) => {
    expect(parseAuth(spec)).toEqual(scheme);
  });

  it.each([
    '',
    'Bearer',
    'token',
    'header',
    'header:',
    'header: X-Key',
    'header:X Key',
    'header:X-Key\r\n',
    'header:X-Key: s3cret',
    'query:',
    'query:a=s3cret',
    'header:Host',
    'header:content-length',
    'header:connection',
    'header:transfer-encoding',
    'header:expect',
    'bearer s3cret',
    'bearer:s3cret',
    'basic user:s3cret',
    's3cret',
  ])('refuses %j and does not repeat it', (spec) => {
    expect(() => parseAuth(spec)).toThrow(
      expect.objectContaining({
        code: 'INVALID_SETTING',
        message:
          'expected none, bearer, basic, header:NAME or query:NAME; the credential itself goes into BRANDFILL_API_KEY or --api-key-file',
      }),
    );
  });
});

describe('createCredential', () => {
  it.each([
    ['none', 'key', { headers: [], queryParam: undefined }],
    ['bearer', 'key', { headers: [['authorization', 'Bearer key']] }],
    [
      'basic',
      'user:pass:word',
      { headers: [['authorization', `Basic ${btoa('user:pass:word')}`]] },
    ],
    ['basic', 'key', { headers: [['authorization', `Basic ${btoa('key:')}`]] }],
    ['basic', ':pass', { headers: [['authorization', `Basic ${btoa(':pass')}`]] }],
    ['header:X-Api-Key', 'key', { headers: [['x-api-key', 'key']], queryParam: undefined }],
    ['query:Key', 'schlüssel\n', { headers: [], queryParam: ['Key', 'schlüssel\n'] }],
  ])('puts the secret where %s wants it', (spec, secret, expected) => {
    expect(createCredential(parseAuth(spec), secret)).toMatchObject(expected);
  });

  it('needs no secret for none', () => {
    expect(createCredential({ kind: 'none' }, undefined).redact('as it is')).toBe('as it is');
  });

  it.each(['bearer', 'basic', 'header:x-key', 'query:key'])('needs a secret for %s', (spec) => {
    for (const secret of [undefined, '']) {
      expect(() => createCredential(parseAuth(spec), secret)).toThrow(
        expect.objectContaining({
          code: 'INVALID_SETTING',
          message: expect.stringContaining(
            'set BRANDFILL_API_KEY or give --api-key-file FILE',
          ) as string,
        }),
      );
    }
  });

  it.each(['bearer', 'basic', 'header:x-key'])(
    'refuses, for %s, a secret that no header can carry, and does not repeat it',
    (spec) => {
      for (const secret of [
        's3cret\nx',
        's3cret\r',
        's3crét',
        's3cret\0',
        's3cret\t',
        '\uFEFFs3cret',
      ]) {
        const create = (): unknown => createCredential(parseAuth(spec), secret);
        expect(create).toThrow('characters that an HTTP header cannot carry');
        expect(create).not.toThrow(/s3cr/);
      }
    },
  );
});

describe('redact', () => {
  const schemes = ['none', 'bearer', 'basic', 'header:x-key', 'query:key'];

  it.each(schemes)('hides the secret of %s in every form a server may give back', (spec) => {
    const secret = 'us er:s3/cr"et+1\\=';
    const { redact, headers } = createCredential(parseAuth(spec), secret);
    const forms = [
      secret,
      encodeURIComponent(secret),
      encodeURIComponent(encodeURIComponent(secret)),
      encodeURIComponent(secret).replaceAll(/%../g, (hex) => hex.toLowerCase()),
      JSON.stringify(secret).slice(1, -1),
      btoa(secret),
      ...headers.map(([, value]) => value.replace(/^(Bearer|Basic) /, '')),
    ];
    for (const form of forms) {
      expect(redact(`key ${form}, again ${form}.`)).toBe('key [redacted], again [redacted].');
    }
  });

  it('hides the password of basic alone, and leaves the user', () => {
    const { redact } = createCredential({ kind: 'basic' }, 'alice:s3cret');
    expect(redact('user alice, password s3cret')).toBe('user alice, password [redacted]');
  });

  it.each(['sk_live', 'sk_live:'])(
    'hides the user of basic when it is all there is (%s)',
    (secret) => {
      const { redact } = createCredential({ kind: 'basic' }, secret);
      expect(redact('unknown key sk_live')).toBe('unknown key [redacted]');
    },
  );

  it.each(['sk_live:x', 'sk_live:'])(
    'takes what stands before a colon for the secret when next to nothing follows: %s',
    (secret) => {
      const { redact } = createCredential({ kind: 'basic' }, secret);
      expect(redact(`max, no key sk_live, no ${secret}`)).toBe(
        'max, no key [redacted], no [redacted]',
      );
    },
  );

  it('does not search its own marks', () => {
    const { redact } = createCredential({ kind: 'basic' }, 'alice:dact');
    expect(redact('alice:dact and dact')).toBe('[redacted] and [redacted]');
  });

  it('leaves everything else as it is', () => {
    const { redact } = createCredential({ kind: 'bearer' }, 's3cret');
    expect(redact('no such domain $& $1')).toBe('no such domain $& $1');
  });

  it('takes a secret for a text and not for a pattern', () => {
    const { redact } = createCredential({ kind: 'bearer' }, '.*$&');
    expect(redact('a .*$& b')).toBe('a [redacted] b');
  });

  it('lets no secret through, wherever it stands', () => {
    const secrets = fc.stringMatching(/^[abcXYZ019_./+=:%"-]{8,20}$/);
    fc.assert(
      fc.property(
        fc.constantFrom(...schemes),
        secrets,
        fc.string(),
        fc.string(),
        (spec, secret, a, b) => {
          const { redact } = createCredential(parseAuth(spec), secret);
          for (const form of [secret, encodeURIComponent(secret), btoa(secret)]) {
            expect(redact(a + form + b)).not.toContain(form);
          }
        },
      ),
    );
  });
});
