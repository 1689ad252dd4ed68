import type { Closable } from './common/closer.ts';
import type { OnNotice } from './common/notice.ts';
import { createHealth, type Health } from './http/health.ts';
import type { Routes } from './http/listener.ts';
import type { ListenAddress } from './job/values/listen-address.ts';
import type { InstrumentMaker } from './metrics/create-instruments.ts';
import { readVersion } from './version.ts';

/** What a process shows of itself over HTTP. */
export interface Status extends Closable {
  /** What `/readyz` asks. */
  readonly health: Health;
  /** What `/metrics` tells. */
  readonly instruments: InstrumentMaker;
}

export interface StatusOptions {
  /** Where it listens; undefined for nowhere. */
  readonly listen: ListenAddress | undefined;
  /** How the setting is called in messages. */
  readonly label: string;
  /** The command that runs. */
  readonly command: 'worker' | 'collect' | 'schedule' | 'enrich';
  /** More routes, such as those of the dashboard; they are asked first. */
  readonly routes?: readonly Routes[];
  /** What is there, for people. @default `/metrics, /livez and /readyz` */
  readonly serves?: string;
  /** Told where it listens. */
  readonly onNotice: OnNotice;
}

/**
 * Starts the HTTP server of a process, if it is to have one: `/metrics`, `/livez`, `/readyz`.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address cannot be had
 */
export async function openStatus(options: StatusOptions): Promise<Status | undefined> {
  const { listen, label, command, routes = [], onNotice } = options;
  const { serves = '/metrics, /livez and /readyz' } = options;
  if (listen === undefined) return undefined;
  // Loaded here, so that whoever wants no server need not wait for it.
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
