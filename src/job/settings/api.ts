import type { AuthScheme } from '../../brand/credential.ts';
import { parseAuth } from '../../brand/credential.ts';
import type { NameValue } from '../../brand/endpoint.ts';
import { parseBaseUrl } from '../../brand/endpoint.ts';
import type { Definitions } from '../setting-definition.ts';
import { headers, nameValues, text } from '../values/setting-values.ts';

/** Settings of the API and of how it is called. */
export interface ApiSettings {
  readonly baseUrl: string | undefined;
  readonly auth: AuthScheme;
  readonly apiKeyFile: string | undefined;
  readonly param: readonly NameValue[] | undefined;
  readonly header: readonly NameValue[] | undefined;
}

export const API_SETTINGS: Definitions<ApiSettings> = {
  baseUrl: {
    value: 'URL',
    env: 'BRANDFILL_BASE_URL',
    description: 'the API; calls {base_url}/v1/brand?domain=…, a path in it is kept',
    parse: (value) => parseBaseUrl(text(value)),
  },
  auth: {
    value: 'SPEC',
    env: 'BRANDFILL_AUTH',
    default: 'none',
    description:
      'none, bearer, basic, header:NAME or query:NAME; the credential is in BRANDFILL_API_KEY or --api-key-file',
    parse: (value) => parseAuth(text(value)),
  },
  apiKeyFile: {
    value: 'FILE',
    description: 'a file that holds the credential and nothing else',
    parse: text,
  },
  param: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'an extra query parameter for every call',
    parse: nameValues,
  },
  header: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'an extra header for every call; no credentials',
    parse: headers,
  },
};
