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
    const { redactor } = createCredential({ kind: 'none' }, undefined);
    expect(redactor.text('as it is')).toBe('as it is');
    expect(redactor.json('{"as":"it is"}')).toBe('{"as":"it is"}');
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
