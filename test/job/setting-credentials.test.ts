import { describe, expect, it } from 'vitest';
import { SETTINGS, type SettingKey } from '../../src/job/settings.ts';
import { refusalOf } from './read-settings.ts';

describe('a bad value', () => {
  it.each(['Authorization', 'authorization', 'Proxy-Authorization', 'Cookie'])(
    'of header is a credential in %s',
    (name) => {
      expect(refusalOf({ header: [`${name}=s3cret`] })).toBe(
        `Cannot use --header: '${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file.`,
      );
    },
  );

  it.each<[SettingKey, string]>([
    ['auth', 's3cret'],
    ['auth', 'bearer s3cret'],
    ['auth', 'basic:user:s3cret'],
    ['auth', 'header:x-key: s3cret'],
    ['auth', 'query:key=s3cret'],
    ['header', 's3cret'],
    ['header', 'Authorization: Bearer s3cret'],
    ['header', 'Authorization: Bearer s3cret=='],
    ['header', 'Authorization=Bearer s3cret'],
    ['header', 'Bearer s3cret='],
    ['header', 'x-api-key: s3cret=\n'],
    ['header', 'x-api-key=s3cret\n'],
    ['param', 's3cret'],
  ])('of %s is never repeated when it may be a credential: %j', (key, value) => {
    const isRepeatable = SETTINGS[key].isRepeatable ?? false;
    const message = refusalOf({ [key]: isRepeatable ? [value] : value });
    expect(message).toMatch(/^Cannot use --/);
    expect(message).not.toContain('s3cret');
    const env = SETTINGS[key].env;
    if (env !== undefined) expect(refusalOf({}, { [env]: value })).not.toContain('s3cret');
  });
});
