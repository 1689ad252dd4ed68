import { createBrandAnswer } from './brand-answer.ts';
import { createFaults } from './faults.ts';
import type { SandboxOptions, SandboxReply } from './options.ts';
import { draw, purposes } from './random.ts';
import type { Script, ScriptedCall } from './script.ts';
import { toSendable } from './scripted-reply.ts';

/** The properties of a call that its answer depends on. */
export interface Asked extends ScriptedCall {
  /** The host by which the caller has reached the sandbox. */
  host: string | undefined;
}

/** Decides the answer to a call. */
export type Replies = (asked: Asked) => SandboxReply;

/**
 * Create the function that decides the answers: scripts first, then faults, then missing
 * domains, then found ones.
 */
export function createReplies(options: SandboxOptions, script?: Script): Replies {
  const { errors = 0, broken = 0, notFound = 0, logos = false } = options;
  const faults = createFaults(errors, broken);
  return ({ host, ...call }) => {
    const { domain, hash, ordinal } = call;
    const special =
      callRespond(options, domain, ordinal) ?? script?.replyTo(call) ?? faults?.(hash, ordinal);
    if (special !== undefined) return special;
    if (notFound > 0 && draw(hash, purposes.notFound) < notFound) return unknownDomain;
    const logoFolder = logos ? `http://${host}/logos` : undefined;
    return { body: createBrandAnswer(domain, hash, logoFolder) };
  };
}

/**
 * Guards `respond`: if it throws, or returns what cannot be sent, the process would end and the call
 * would stay open.
 */
function callRespond(
  { respond }: SandboxOptions,
  domain: string,
  ordinal: number,
): SandboxReply | undefined {
  try {
    const reply = respond?.(domain, ordinal) ?? undefined;
    return reply === undefined ? undefined : toSendable(reply);
  } catch (error) {
    return { status: 500, body: { error: { code: 'respond_threw', message: String(error) } } };
  }
}

const unknownDomain: SandboxReply = {
  status: 404,
  body: { error: { code: 'not_found', message: 'Nothing is known about this domain.' } },
};
