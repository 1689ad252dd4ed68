import type { Settings } from './settings.ts';

/**
 * Names an API for people: its base URL and the names of the parameters that go with every call.
 * The values are left out: one of them may be a credential.
 */
export function nameApi({ baseUrl = '', param = [] }: Pick<Settings, 'baseUrl' | 'param'>): string {
  const names = param.map(([name]) => `${name}=…`);
  return names.length > 0 ? `${baseUrl}?${names.join('&')}` : baseUrl;
}
