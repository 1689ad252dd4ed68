import { type AllowedHost, parseAllowedHost } from '../../common/hosts.ts';
import type { Definitions, SettingDefinition } from '../read-settings.ts';
import {
  type AddressRange,
  type ListenAddress,
  parseAddressRange,
  parseListenAddress,
} from '../values/listen-address.ts';
import { text } from '../values/setting-values.ts';

/** Settings of the HTTP server of a process. */
export interface StatusSettings {
  readonly listen: ListenAddress | undefined;
  readonly allowHost: readonly AllowedHost[] | undefined;
}

/** Settings of who may see a dashboard. */
export interface DashboardAccessSettings extends Pick<StatusSettings, 'allowHost'> {
  readonly tokenFile: string | undefined;
  readonly trustedProxy: readonly AddressRange[] | undefined;
}

export interface ListenSettings extends StatusSettings, DashboardAccessSettings {}

const ALLOW_HOST: SettingDefinition<readonly AllowedHost[] | undefined> = {
  value: 'HOST',
  isRepeatable: true,
  description:
    'with --listen: name, or NAME:PORT, under which /metrics and /readyz may be asked for, besides localhost and addresses',
  parse: (value) => [value].flat().map((host) => parseAllowedHost(text(host))),
};

/** Of processes that have no dashboard. */
export const STATUS_SETTINGS: Definitions<StatusSettings> = {
  listen: {
    value: '[HOST:]PORT',
    description:
      'serve /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
    parse: parseListenAddress,
  },
  allowHost: ALLOW_HOST,
};

export const DASHBOARD_ACCESS_SETTINGS: Definitions<DashboardAccessSettings> = {
  allowHost: {
    ...ALLOW_HOST,
    description:
      'name, or NAME:PORT, under which the dashboard without a token may be asked for, besides localhost and addresses',
  },
  tokenFile: {
    value: 'FILE',
    description:
      'file that holds the token for the dashboard; a token is required if other machines can reach it (default: BRANDFILL_DASHBOARD_TOKEN, else none)',
    parse: text,
  },
  trustedProxy: {
    value: 'ADDRESS',
    isRepeatable: true,
    description:
      'address, or range such as 10.0.0.0/8, of a proxy that says in X-Forwarded-For who asks; wrong tokens are slowed down for each who asks',
    parse: (value) => [value].flat().map((range) => parseAddressRange(text(range))),
  },
};

export const LISTEN_SETTINGS: Definitions<ListenSettings> = {
  listen: {
    ...STATUS_SETTINGS.listen,
    description:
      'serve a dashboard, /metrics, /livez and /readyz over HTTP while running; only on this machine unless a HOST is given (default: no server)',
  },
  ...DASHBOARD_ACCESS_SETTINGS,
  allowHost: {
    ...ALLOW_HOST,
    description:
      'with --listen: name, or NAME:PORT, under which /metrics, /readyz and a dashboard without a token may be asked for, besides localhost and addresses',
  },
};
