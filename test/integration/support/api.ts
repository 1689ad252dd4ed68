import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { SandboxOptions, SandboxReply } from '../../../src/sandbox/options.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';

/** Starts a stand-in for the API that stops when the test ends. */
export async function openApi(options?: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/** Starts a stand-in that answers each domain as scripted; the others get a name. */
export async function openScripted(
  script: Readonly<Record<string, SandboxReply>>,
  options?: SandboxOptions,
): Promise<Sandbox> {
  return await openApi({
    ...options,
    respond: (domain) => script[domain] ?? { body: { name: nameOf(domain) } },
  });
}

/** `acme.com` is called `Acme`. */
function nameOf(domain: string): string {
  return domain.charAt(0).toUpperCase() + domain.slice(1, domain.indexOf('.'));
}

/** A server that notes the requests it gets, for what the sandbox does not tell. */
export async function openServer(
  answer: RequestListener = ({ url = '' }, response) =>
    response.end(JSON.stringify({ name: new URL(url, 'http://api').searchParams.get('domain') })),
): Promise<{ readonly url: string; readonly requests: readonly IncomingMessage[] }> {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
