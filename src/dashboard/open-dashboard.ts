import type { Closable } from '../common/closer.ts';
import type { AllowedHost } from '../common/hosts.ts';
import type { Routes } from '../http/listener.ts';
import { createAddressFinder, createHostCheck } from '../http/request-origin.ts';
import type { AddressRange } from '../options/kinds.ts';
import { createAccess } from './access.ts';
import { readAssets } from './assets.ts';
import type { BoardSource } from './board.ts';
import { createHub } from './hub.ts';
import type { QueuesPage } from './queues-page.ts';
import { dashboardRoutes } from './routes.ts';

export interface OpenDashboardOptions {
  readonly source: BoardSource;
  /** Undefined lets in everybody who asks under a name that is known. */
  readonly token: string | undefined;
  readonly allowHost: readonly AllowedHost[] | undefined;
  readonly trustedProxy: readonly AddressRange[] | undefined;
  /** The name of the setting `allowHost` in messages. */
  readonly label: string;
  /** The page of all queues. @default there is none */
  readonly queues?: QueuesPage | undefined;
}

/** The page that shows what is going on. */
export interface Dashboard extends Closable {
  /** Routes to add to an HTTP server. */
  readonly routes: Routes;
}

/** Makes the page; the caller serves it. Closing it sends the last state to all viewers. */
export async function openDashboard(options: OpenDashboardOptions): Promise<Dashboard> {
  const { source, token, queues, allowHost = [], trustedProxy = [], label } = options;
  const hub = createHub({ source });
  const assets = await readAssets();
  const access = createAccess({ token });
  return {
    routes: dashboardRoutes({
      source,
      hub,
      access,
      assets,
      queues,
      checkHost: createHostCheck(
        allowHost,
        `BRANDFILL_DASHBOARD_TOKEN has it ask for a token, or ${label}`,
      ),
      addressOf: createAddressFinder(trustedProxy),
    }),
    close: () => hub.close(),
  };
}
