import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SandboxReply } from './options.ts';
import { send } from './send.ts';

/** How a reply is delivered. */
export interface Delivery {
  /** Milliseconds to wait; 0 sends at once. */
  delayMs: number;
  gzip: boolean;
  /** Called when the reply is due, just before it is sent. For `hang`, at once. */
  onDue: () => void;
  /** Called instead when the caller leaves before that, and for `hang` when the caller leaves. */
  onGone: () => void;
}

/** The response that a reply goes to, and headers that go with any answer. */
export interface Recipient {
  request: IncomingMessage;
  response: ServerResponse;
  headers?: Readonly<Record<string, string>> | undefined;
}

/** Send a reply when it is due, unless the caller has gone by then. */
export function deliver(recipient: Recipient, reply: SandboxReply, delivery: Delivery): void {
  const { delayMs, onDue, onGone } = delivery;
  const { response } = recipient;
  if (reply === 'hang') {
    onDue();
    response.once('close', onGone);
    return;
  }
  if (delayMs <= 0) {
    onDue();
    transmit(recipient, reply, delivery.gzip);
    return;
  }
  const cancel = () => {
    clearTimeout(timer);
    onGone();
  };
  const timer = setTimeout(() => {
    response.off('close', cancel);
    onDue();
    transmit(recipient, reply, delivery.gzip);
  }, delayMs);
  response.once('close', cancel);
}

function transmit(
  { request, response, headers }: Recipient,
  reply: Exclude<SandboxReply, 'hang'>,
  gzip: boolean,
): void {
  if (reply === 'reset') {
    request.socket.resetAndDestroy();
    return;
  }
  const { status = 200, body = '', breakOff = false, raw } = reply;
  if (raw !== undefined) {
    request.socket.end(raw);
    return;
  }
  const message = {
    status,
    headers: headers === undefined ? reply.headers : { ...headers, ...reply.headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body),
    breakOff,
  };
  send(request, response, message, gzip);
}
