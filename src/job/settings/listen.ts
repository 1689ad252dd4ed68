import { type ListenAddress, parseListenAddress } from '../listen-address.ts';
import type { Definitions } from '../setting-definition.ts';

/** Settings of the HTTP server of a process. */
export interface ListenSettings {
  readonly listen: ListenAddress | undefined;
}

export const LISTEN_SETTINGS: Definitions<ListenSettings> = {
  listen: {
    value: '[HOST:]PORT',
    description:
      'serve /metrics, /livez and /readyz over HTTP while it runs; for this machine alone unless a HOST is given (default: no server)',
    parse: parseListenAddress,
  },
};
