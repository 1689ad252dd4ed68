import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { HonoAdapter } from '@bull-board/hono';
import { serveStatic } from '@hono/node-server/serve-static';
import type { Queue } from 'bullmq';
import type { Hono, MiddlewareHandler } from 'hono';
import { within } from '../common/lifetime.ts';

/** The path of the page. */
const QUEUES_PATH = '/queues';

export interface QueuesPageOptions {
  /** All queues that exist now. Each is opened once; the provider of this function closes them. */
  readonly findQueues: () => Promise<readonly Queue[]>;
}

/** The parts to add to a server. */
export interface QueuesPage {
  /** Goes before the page, and lets only reading requests through. */
  readonly toLookAt: MiddlewareHandler;
  readonly page: Hono;
}

/**
 * The page sets styles in its markup. It would load a font from elsewhere, which the policy does
 * not allow.
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

/** Somebody is waiting, for two seconds at most. */
const ANSWER_MS = 1_500;
const AWAY = 'Redis does not answer: its queues are shown here when it does.\n';

/** Serves bull-board, read-only: changing jobs there would lose lookups that a run waits for. */
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
    const show = async (): Promise<void> => {
      await refresh();
      await next();
    };
    if (!(await within(ANSWER_MS, show()))) return context.text(AWAY, 503);
    const { res } = context;
    if (res.headers.get('content-type')?.startsWith('text/html') === true) {
      const base = `${prefixOf(context.req.header('x-forwarded-prefix'))}${QUEUES_PATH}/`;
      const html = (await res.text())
        .replaceAll(/<link href="https?:[^<>]*>/g, '')
        .replace(`<base href="${QUEUES_PATH}/" />`, `<base href="${base}" />`);
      context.res = new Response(html, res);
    }
    context.res.headers.set('content-security-policy', POLICY);
    return undefined;
  };

  return { toLookAt, page: server.registerPlugin() };
}

/** The path below which a proxy serves us, as its header says; empty without one. */
function prefixOf(header = ''): string {
  return /^(?:\/[\w.~-]+)+$/.test(header) ? header : '';
}
