import type { OnNotice } from '../common/errors.ts';
import type { Closable } from '../common/lifetime.ts';
import type { StatusSettings } from '../options/options.ts';
import { readVersion } from '../version.ts';
import type { Health, Routes } from '../web/listener.ts';
import type { InstrumentMaker } from './create-instruments.ts';

/** The status of a process, served over HTTP. */
export interface Status extends Closable {
  /** The checks behind `/readyz`. */
  readonly health: Health;
  /** The instruments behind `/metrics`. */
  readonly instruments: InstrumentMaker;
}

export interface StatusOptions {
  /** Without an address to listen on there is no server. */
  readonly settings: StatusSettings;
  /** The name of a setting in messages. */
  readonly describe: (key: keyof StatusSettings) => string;
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
  const { settings, describe, command, routes = [], onNotice } = options;
  const { listen, allowHost = [] } = settings;
  const { serves = '/metrics, /livez and /readyz' } = options;
  if (listen === undefined) return undefined;
  // Loaded here, so that a process without a server need not wait for it.
  const { createHealth, createHostCheck, healthRoutes, openListener } = await import(
    '../web/listener.ts'
  );
  const { createMetrics, metricsRoutes } = await import('./metrics.ts');
  const { createInstrumentMaker } = await import('./create-instruments.ts');
  const health = createHealth();
  const all = createMetrics({ command, version: readVersion() });
  const checkHost = createHostCheck(
    [...allowHost, { hostname: listen.host.toLowerCase(), port: undefined }],
    describe('allowHost'),
  );
  // `/livez` says nothing, and whoever restarts what does not live may ask under any name.
  const guard: Routes = (app) => void app.use('/metrics', checkHost).use('/readyz', checkHost);
  const ours = [guard, healthRoutes(health), metricsRoutes(all)];
  const label = describe('listen');
  const listener = await openListener({ ...listen, label, routes: [...routes, ...ours] });
  onNotice(`Listening on ${listener.url} for ${serves}.`, { level: 'info' });
  const instruments = createInstrumentMaker(all);
  return { health, instruments, close: () => listener.close() };
}
