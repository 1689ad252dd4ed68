import {
  type IncomingMessage,
  type RequestListener,
  request,
  type ServerResponse,
} from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import type { SandboxOptions, SandboxReply } from '../../../src/sandbox/options.ts';
import { type Sandbox, startSandbox } from '../../../src/sandbox/server.ts';
import { createGate } from '../../support/gate.ts';
import { useHttpServer } from '../../support/servers.ts';

/** Starts a stand-in for the API that stops when the test ends. */
export async function openApi(options?: SandboxOptions): Promise<Sandbox> {
  const sandbox = await startSandbox(options);
  onTestFinished(() => sandbox.close());
  return sandbox;
}

/**
 * Holds the calls to an API until a test has what it needs before the first answer: a second
 * process takes seconds to start on a busy machine, in which a list may be over.
 *
 * @param isHeld whether a call is held, by the path and query that it asks for
 */
export async function holdCalls(api: Sandbox, isHeld: (target: string) => boolean = () => true) {
  const gate = createGate();
  let come = 0;
  const { url } = await useHttpServer((asked, answer) => {
    come += 1;
    const goesOn = isHeld(asked.url ?? '') ? gate.opened : Promise.resolve();
    void goesOn.then(() => {
      if (!answer.destroyed) passOn(api, asked, answer); // else whoever asked is gone
    });
  });
  return {
    url,
    /** How many have come by now. */
    come: () => come,
    /** Lets all of them go on, and those to come. */
    release: gate.open,
  };
}

/** Has an API answer what another server was asked. */
export function passOn(api: Sandbox, asked: IncomingMessage, answer: ServerResponse): void {
  const { method, headers, url: target = '' } = asked;
  const passed = request(api.url + target, { method, headers }, (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  passed.on('error', () => answer.destroy());
  answer.on('close', () => passed.destroy());
  asked.pipe(passed);
}

/**
 * Waits until no call is under way and none has come for a while, as after a pause: what was on its
 * way may take its time. Gives how many have come in all.
 */
export async function untilSilent(api: Sandbox, forMs = 1_000): Promise<number> {
  for (;;) {
    const { calls } = api.stats();
    await delay(forMs);
    const now = api.stats();
    if (now.calls === calls && now.concurrency.now === 0) return calls;
  }
}

/** Starts a stand-in that answers each domain as scripted; the others get a name. */
export async function openScripted(
  script: Readonly<Record<string, SandboxReply>>,
  options?: SandboxOptions,
): Promise<Sandbox> {
  const respond = (domain: string) => script[domain] ?? { body: { name: nameOf(domain) } };
  return await openApi({ ...options, respond });
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
  const { url } = await useHttpServer((request, response) => {
    requests.push(request);
    answer(request, response);
  });
  return { url, requests };
}
