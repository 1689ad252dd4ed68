import { createBrandAnswer } from './brand-answer.ts';
import { createFaults } from './faults.ts';
import type { SandboxOptions, SandboxReply } from './options.ts';
import { draw, purposes } from './random.ts';

/** Says what a call is answered, from the domain, its hash and the ordinal of the call for it. */
export type Replies = (domain: string, hash: number, ordinal: number) => SandboxReply;

/** Create what decides the answers: the script first, then faults, then missing domains, then found ones. */
export function createReplies(options: SandboxOptions): Replies {
  const { respond, errors = 0, broken = 0, notFound = 0 } = options;
  const faults = createFaults(errors, broken);
  return (domain, hash, ordinal) => {
    const special = respond?.(domain, ordinal) ?? faults?.(hash, ordinal);
    if (special !== undefined) return special;
    if (notFound > 0 && draw(hash, purposes.notFound) < notFound) return unknownDomain;
    return { body: createBrandAnswer(domain, hash) };
  };
}

const unknownDomain: SandboxReply = {
  status: 404,
  body: { error: { code: 'not_found', message: 'Nothing is known about this domain.' } },
};
