import type { Definitions } from '../read-settings.ts';
import { DASHBOARD_ACCESS_SETTINGS, type DashboardAccessSettings } from '../settings/listen.ts';
import { SETTINGS, type Settings } from '../settings.ts';
import { type ListenAddress, parseListenAddress } from '../values/listen-address.ts';

/** All settings of `dashboard`, read and checked. */
export interface DashboardSettings
  extends Pick<Settings, 'queue' | 'acceptEviction'>,
    DashboardAccessSettings {
  readonly listen: ListenAddress;
}

/** Defines all settings of `dashboard`; those that `enrich` has too are the same. */
export const DASHBOARD_SETTINGS: Definitions<DashboardSettings> = {
  queue: {
    ...SETTINGS.queue,
    description: 'Redis whose runs, workers and schedules are shown',
  },
  listen: {
    value: '[HOST:]PORT',
    default: '8080',
    description: 'address to serve the page on; only on this machine unless a HOST is given',
    parse: parseListenAddress,
  },
  ...DASHBOARD_ACCESS_SETTINGS,
  acceptEviction: SETTINGS.acceptEviction,
};
