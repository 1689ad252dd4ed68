import type { Closable } from './common/closer.ts';
import type { OnNotice } from './common/notice.ts';
import { createHealth, type Health } from './http/health.ts';
import type { Routes } from './http/listener.ts';
import type { ListenAddress } from './job/values/listen-address.ts';
import type { InstrumentMaker } from './metrics/create-instruments.ts';
import { readVersion } from './version.ts';

/** The status of a process, served over HTTP. */
export interface Status extends Closable {
  /** The checks behind `/readyz`. */
  readonly health: Health;
  /** The instruments behind `/metrics`. */
  readonly instruments: InstrumentMaker;
}

export interface StatusOptions {
  /** The address to listen on; undefined for no server. */
  readonly listen: ListenAddress | undefined;
  /** The name of the setting in messages. */
  readonly label: string;
  /** The command that runs. */
  readonly command: 'worker' | 'collect' | 'schedule' | 'enrich';
  /** Further routes, such as those of the dashboard. They take precedence. */
  readonly routes?: readonly Routes[];
  /** The paths that are served, for people. @default `/metrics, /livez and /readyz` */
  readonly serves?: string;
  /** Called with the address it listens on. */
  readonly onNotice: OnNotice;
}

/**
 * Starts the HTTP server of a process, if it has one: `/metrics`, `/livez`, `/readyz`.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address is not available
 */
export async function openStatus(options: StatusOptions): Promise<Status | undefined> {
  const { listen, label, command, routes = [], onNotice } = options;
  const { serves = '/metrics, /livez and /readyz' } = options;
  if (listen === undefined) return undefined;
  // Loaded here, so that a process without a server need not wait for it.
  const { openListener } = await import('./http/listener.ts');
  const { healthRoutes } = await import('./http/health-routes.ts');
  const { createMetrics, metricsRoutes, createInstrumentMaker } = await import(
    './metrics/index.ts'
  );
  const health = createHealth();
  const all = createMetrics({ command, version: readVersion() });
  const ours = [healthRoutes(health), metricsRoutes(all)];
  const listener = await openListener({ ...listen, label, routes: [...routes, ...ours] });
  onNotice(`Listening on ${listener.url} for ${serves}.`, { level: 'info' });
  const instruments = createInstrumentMaker(all);
  return { health, instruments, close: () => listener.close() };
}
