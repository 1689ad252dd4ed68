import { createEndpoint } from '../brand/endpoint.ts';
import { BrandfillError } from '../common/errors.ts';
import type { Settings } from './settings.ts';

/**
 * The id of the API that settings name. For settings that need not name an API.
 *
 * @param describe gives the name of a setting in messages
 * @returns undefined when no API is named
 * @throws BrandfillError `INVALID_SETTING` when there are parameters without a base URL
 */
export function findEndpointId(
  { baseUrl, param }: Pick<Settings, 'baseUrl' | 'param'>,
  describe: (key: string) => string,
): string | undefined {
  if (baseUrl !== undefined) return createEndpoint({ baseUrl, params: param ?? [] }).id;
  if (param === undefined) return undefined;
  throw new BrandfillError(
    'INVALID_SETTING',
    `Cannot use ${describe('param')} alone: it tells which API is meant only along with ${describe('baseUrl')}.`,
  );
}
