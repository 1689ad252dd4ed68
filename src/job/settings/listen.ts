import type { Definitions, SettingDefinition } from '../setting-definition.ts';
import { type ListenAddress, parseListenAddress } from '../values/listen-address.ts';
import { text } from '../values/setting-values.ts';

/** Settings of the HTTP server of a process. */
export interface ListenSettings {
  readonly listen: ListenAddress | undefined;
  readonly tokenFile: string | undefined;
}

/** The same for processes that have no dashboard. */
export const METRICS_LISTEN: SettingDefinition<ListenAddress | undefined> = {
  value: '[HOST:]PORT',
  description:
    'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  parse: parseListenAddress,
};

/** The file that holds the token of a dashboard. */
export const TOKEN_FILE: SettingDefinition<string | undefined> = {
  value: 'FILE',
  description:
    'file that holds the token for the dashboard; a token is required if other machines can reach it (default: BRANDFILL_DASHBOARD_TOKEN, else none)',
  parse: text,
};

export const LISTEN_SETTINGS: Definitions<ListenSettings> = {
  listen: {
    ...METRICS_LISTEN,
    description:
      'serve a dashboard, /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  },
  tokenFile: TOKEN_FILE,
};
