import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { SandboxAnswer, SandboxReply } from './options.ts';

/**
 * A scripted reply with its body as text or bytes. What HTTP cannot carry is refused here, where the script is
 * called: when it is sent it would end the process that has the sandbox.
 *
 * @throws Error that says what is wrong with the reply
 */
export function toSendable(reply: SandboxReply): SandboxReply {
  if (reply === 'reset' || reply === 'hang') return reply;
  if (typeof reply !== 'object' || reply instanceof Promise) {
    throw new TypeError(`expected an answer, 'reset' or 'hang', received ${describe(reply)}`);
  }
  const { status = 200, headers = {}, body, raw } = reply;
  if (raw !== undefined && typeof raw !== 'string') {
    throw new TypeError(`expected raw as a text, received a ${typeof raw}`);
  }
  if (!Number.isInteger(status) || status < 200 || status > 999) {
    throw new RangeError(`expected a status from 200 to 999, received ${String(status)}`);
  }
  for (const [name, value] of Object.entries(headers)) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
  }
  return body === undefined ? reply : { ...reply, body: textOf(body) };
}

function describe(reply: unknown): string {
  return reply instanceof Promise ? 'a promise' : `a ${typeof reply}`;
}

function textOf(body: Exclude<SandboxAnswer['body'], undefined>): string | Uint8Array {
  if (body instanceof Uint8Array) return body;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  if (text === undefined)
    throw new TypeError(`expected a body for JSON, received a ${typeof body}`);
  return text;
}
