import { type AuthScheme, parseAuth } from '../../brand/credential.ts';
import { type NameValue, parseBaseUrl } from '../../brand/endpoint.ts';
import type { Definitions } from '../read-settings.ts';
import { headers, nameValues, text } from '../values/setting-values.ts';

/** Settings of the API and of how it is called. */
export interface ApiSettings {
  readonly api: string | undefined;
  readonly baseUrl: string | undefined;
  readonly auth: AuthScheme;
  readonly apiKeyFile: string | undefined;
  readonly param: readonly NameValue[] | undefined;
  readonly header: readonly NameValue[] | undefined;
}

export const API_SETTINGS: Definitions<ApiSettings> = {
  api: {
    value: 'NAME or FILE',
    env: 'BRANDFILL_API',
    description:
      'profile of the API, by its name (see brandfill api list) or as a YAML or JSON file: how the API is asked and what its answers mean (default: the standard, GET {base_url}/v1/brand?domain=…)',
    parse: text,
  },
  baseUrl: {
    value: 'URL',
    env: 'BRANDFILL_BASE_URL',
    description:
      'base URL of the API; calls go to {base_url}/v1/brand?domain=…, and a path in it is kept',
    parse: (value) => parseBaseUrl(text(value)),
  },
  auth: {
    value: 'SPEC',
    env: 'BRANDFILL_AUTH',
    default: 'none',
    description:
      'how to authenticate: none, bearer, basic, header:NAME or query:NAME; the credential is read from BRANDFILL_API_KEY or --api-key-file',
    parse: (value) => parseAuth(text(value)),
  },
  apiKeyFile: {
    value: 'FILE',
    description: 'file that holds the credential and nothing else',
    parse: text,
  },
  param: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'extra query parameter for every call',
    parse: nameValues,
  },
  header: {
    value: 'NAME=VALUE',
    isRepeatable: true,
    description: 'extra header for every call; not for credentials',
    parse: headers,
  },
};

/** Whether a profile is named by its file rather than as one that is shipped. */
export function isProfileFile(nameOrFile: string): boolean {
  return /[/\\]|\.(ya?ml|json)$/i.test(nameOrFile);
}
