import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { pipeline, Readable } from 'node:stream';
import type { BrandEndpoint } from './brand-endpoint.ts';
import type { CallCounter } from './call-counter.ts';
import type { LogoPages } from './logo-pages.ts';
import { send, sendError } from './send.ts';

/**
 * Create the function that hands each request to its endpoint. It checks for the brand endpoint
 * first, because that is the busy one.
 */
export function createRouter(
  endpoint: BrandEndpoint,
  counter: CallCounter,
  logos?: LogoPages,
): RequestListener {
  const pages: Record<string, Page> = {
    '/healthz': {
      method: 'GET',
      serve: (request, response) => sendJson(request, response, { status: 'ok' }),
    },
    '/stats': {
      method: 'GET',
      serve: (request, response) => sendJson(request, response, counter.snapshot()),
    },
    '/stats/domains': {
      method: 'GET',
      serve: (_request, response) => sendDomains(response, counter),
    },
    '/reset': {
      method: 'POST',
      serve(request, response) {
        endpoint.reset();
        sendJson(request, response, { status: 'ok' });
      },
    },
  };
  const brand: Page = {
    method: 'GET',
    serve: (request, response, query) => endpoint.handle(request, response, query),
  };
  const findLogo = (path: string): Page | undefined => {
    const logo = logos?.(path);
    return logo && { method: 'GET', serve: (request, response) => send(request, response, logo) };
  };
  const findScripted = (path: string): Page | undefined => {
    const serve = endpoint.pageAt(path);
    return serve && { method: 'GET', serve };
  };
  return (request, response) => {
    const target = request.url ?? '/';
    const mark = target.indexOf('?');
    const path = mark === -1 ? target : target.slice(0, mark);
    const page = path.endsWith('/v1/brand')
      ? brand
      : (findScripted(path) ?? pages[path] ?? findLogo(path));
    if (page === undefined) {
      sendError(request, response, {
        status: 404,
        code: 'no_such_path',
        message: `There is nothing at ${path}.`,
      });
    } else if (page.method !== request.method) {
      const headers = { Allow: page.method };
      const message = `This path takes ${page.method} only.`;
      sendError(request, response, { status: 405, code: 'method_not_allowed', message, headers });
    } else {
      page.serve(request, response, mark === -1 ? '' : target.slice(mark + 1));
    }
  };
}

interface Page {
  method: 'GET' | 'POST';
  serve(request: IncomingMessage, response: ServerResponse, query: string): void;
}

function sendJson(request: IncomingMessage, response: ServerResponse, value: unknown): void {
  send(request, response, { status: 200, body: `${JSON.stringify(value)}\n` });
}

/** Send the calls of every domain as one JSON object, in pieces: there may be millions. */
function sendDomains(response: ServerResponse, counter: CallCounter): void {
  response.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8' });
  pipeline(Readable.from(writeDomains(counter)), response, () => {});
}

function* writeDomains(counter: CallCounter): Generator<string> {
  let piece = '{';
  let separator = '';
  for (const domain of counter.domains()) {
    piece += `${separator}\n${JSON.stringify(domain)}:${JSON.stringify(counter.of(domain))}`;
    separator = ',';
    if (piece.length > 65_536) {
      yield piece;
      piece = '';
    }
  }
  yield `${piece}\n}\n`;
}
