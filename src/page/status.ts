import type { OnNotice } from '../common/errors.ts';
import type { StatusSettings } from '../options/options.ts';
import type { Routes } from './listener.ts';

/** The status of a process, served over HTTP. */
export type Status = NonNullable<Awaited<ReturnType<typeof openStatus>>>;

export interface StatusOptions {
  /** Without an address to listen on there is no server. */
  readonly settings: StatusSettings;
  /** What allows other names of the server, as whoever started it calls that. */
  readonly label: string;
  /** The page of a run; it comes first. @default no page */
  readonly page?: Routes | undefined;
  /** Called with the address it listens on. */
  readonly onNotice: OnNotice;
}

/**
 * Starts the HTTP server of a process, if it has one: `/metrics`, `/livez`, `/readyz`.
 *
 * @throws BrandfillError `INVALID_SETTING` when the address is not available
 */
export async function openStatus(options: StatusOptions) {
  const { settings, label, page, onNotice } = options;
  const { listen, allowHost = [] } = settings;
  if (listen === undefined) return undefined;
  // Loaded here, so that a process without a server need not wait for it.
  const { createHealth, createHostCheck, healthRoutes, openListener } = await import(
    './listener.ts'
  );
  const { createMetrics } = await import('../watch/metrics.ts');
  const health = createHealth();
  const metrics = createMetrics();
  const ours = { hostname: listen.host.toLowerCase(), port: undefined };
  const checkHost = createHostCheck([...allowHost, ours], label);
  const routes: Routes = (app) => {
    // `/livez` says nothing, and whoever restarts what does not live may ask under any name.
    app.use('/metrics', checkHost).use('/readyz', checkHost);
    app.get('/metrics', async (context) => {
      return context.body(await metrics.text(), 200, {
        'content-type': metrics.contentType,
      });
    });
  };
  const listener = await openListener({
    ...listen,
    routes: [routes, healthRoutes(health), ...(page ? [page] : [])],
  });
  const serves = `${page ? 'the dashboard, ' : ''}/metrics, /livez and /readyz`;
  onNotice(`Listening on ${listener.url} for ${serves}.`, { level: 'info' });
  return {
    /** The checks behind `/readyz`. */
    health,
    /** What is behind `/metrics`. */
    metrics,
    close: () => listener.close(),
  };
}
