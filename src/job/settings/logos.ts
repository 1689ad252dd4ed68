import { createField, type Field } from '../../collector/fields/fields.ts';
import { BrandfillError } from '../../common/errors.ts';
import { type AllowedHost, parseAllowedHost } from '../../common/hosts.ts';
import type { Definitions } from '../read-settings.ts';
import { integer, size, text } from '../values/setting-values.ts';

/** Settings of the pictures that answers point to. */
export interface LogoSettings {
  readonly logos: string | undefined;
  readonly logoField: Field | undefined;
  readonly logoMaxSize: number;
  readonly logoConcurrency: number;
  readonly logoAllow: readonly AllowedHost[] | undefined;
}

/** Each picture is held in memory while it is checked. */
const LARGEST_BYTES = 50_000_000;

export const LOGO_SETTINGS: Definitions<LogoSettings> = {
  logos: {
    value: 'DIR',
    description: 'save the logo of each domain in this folder; needs --logo-field',
    parse: text,
  },
  logoField: {
    value: 'EXPR',
    description:
      "with --logos: JMESPath expression for the logo's URL in the answer, such as logos[0].url",
    parse: (value) => createField('the logo', text(value)),
  },
  logoMaxSize: {
    value: 'SIZE',
    default: '1MB',
    description: 'with --logos: maximum size of a picture, up to 50MB; larger ones are not saved',
    parse: (value) => {
      const bytes = size(value);
      if (bytes <= LARGEST_BYTES) return bytes;
      throw new BrandfillError('INVALID_SETTING', 'expected 50MB at most');
    },
  },
  logoConcurrency: {
    value: 'N',
    default: '4',
    description:
      'with --logos: maximum number of pictures fetched at the same time, up to half of them from one host',
    ...integer(1, 256),
  },
  logoAllow: {
    value: 'HOST',
    isRepeatable: true,
    description:
      'with --logos: host, or HOST:PORT, that may be in a private network; all others must have a public address',
    parse: (value) => [value].flat().map((host) => parseAllowedHost(text(host))),
  },
};
