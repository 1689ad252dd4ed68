import type { Closable } from '../common/closer.ts';
import type { Routes } from '../http/listener.ts';
import { createAccess } from './access.ts';
import { readAssets } from './assets.ts';
import type { BoardSource } from './board.ts';
import { createHub } from './hub.ts';
import type { QueuesPage } from './queues-page.ts';
import { dashboardRoutes } from './routes.ts';

export interface OpenDashboardOptions {
  readonly source: BoardSource;
  /** Undefined lets everybody in who asks for this machine. */
  readonly token: string | undefined;
  /** The page of all queues. @default there is none */
  readonly queues?: QueuesPage | undefined;
}

/** A page that shows what goes on. */
export interface Dashboard extends Closable {
  /** To be added to an HTTP server. */
  readonly routes: Routes;
}

/** Makes the page, to be served by somebody. Closing it tells all viewers the last state. */
export async function openDashboard(options: OpenDashboardOptions): Promise<Dashboard> {
  const { source, token, queues } = options;
  const hub = createHub({ source });
  const assets = await readAssets();
  const access = createAccess({ token });
  return {
    routes: dashboardRoutes({ source, hub, access, assets, queues }),
    close: () => hub.close(),
  };
}
