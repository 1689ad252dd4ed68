import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Queue } from 'bullmq';
import type { Hono, MiddlewareHandler } from 'hono';

/** Where it is. */
const QUEUES_PATH = '/queues';

export interface QueuesPageOptions {
  /** All queues there are now; opened once each, and closed by whoever opens them. */
  readonly findQueues: () => Promise<readonly Queue[]>;
}

/** What is to be added to a server. */
export interface QueuesPage {
  /** Goes before the page, and lets nothing but looking through. */
  readonly toLookAt: MiddlewareHandler;
  readonly page: Hono;
}

/**
 * Its page sets styles in its markup. The font that it would have from elsewhere is not asked for;
 * the policy would not let it.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** bull-board, to look only: what it could do to jobs would lose lookups that somebody waits for. */
export function createQueuesPage({ findQueues }: QueuesPageOptions): QueuesPage {
  const server = new HonoAdapter(serveStatic);
  server.setBasePath(QUEUES_PATH);
  const shown = new Map<string, BullMQAdapter>();
  const board = createBullBoard({
    queues: [],
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Brandfill', hideRedisDetails: true } },
  });

  async function refresh(): Promise<void> {
    const queues = await findQueues();
    const names = new Set(queues.map(({ name }) => name));
    for (const name of shown.keys()) if (!names.has(name)) shown.delete(name);
    for (const queue of queues) {
      if (!shown.has(queue.name)) {
        shown.set(queue.name, new BullMQAdapter(queue, { readOnlyMode: true }));
      }
    }
    board.replaceQueues([...shown.values()]);
  }

  const toLookAt: MiddlewareHandler = async (context, next) => {
    if (context.req.method !== 'GET') return context.text('This page is to look at only.\n', 405);
    await refresh();
    await next();
    const { res } = context;
    if (res.headers.get('content-type')?.startsWith('text/html') === true) {
      const base = `${prefixOf(context.req.header('x-forwarded-prefix'))}${QUEUES_PATH}/`;
      const html = (await res.text())
        .replaceAll(/<link href="https?:[^>]*>/g, '')
        .replace(`<base href="${QUEUES_PATH}/" />`, `<base href="${base}" />`);
      context.res = new Response(html, res);
    }
    context.res.headers.set('content-security-policy', POLICY);
    return undefined;
  };

  return { toLookAt, page: server.registerPlugin() };
}

/** The path below which a proxy has us, as it says; none if it says nothing of the kind. */
function prefixOf(header = ''): string {
  return /^(?:\/[\w.~-]+)+$/.test(header) ? header : '';
}
