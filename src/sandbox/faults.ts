import type { SandboxReply } from './options.ts';
import { draw, purposes } from './random.ts';

/** Decides how a call goes wrong; `undefined` when it does not. */
export type Faults = (hash: number, ordinal: number) => SandboxReply | undefined;

/**
 * Create the faults of the sandbox, or `undefined` for none.
 *
 * @param errors share of the calls that end in a server fault
 * @param broken share of the calls whose answer is unusable
 */
export function createFaults(errors: number, broken: number): Faults | undefined {
  if (errors === 0 && broken === 0) return undefined;
  return (hash, ordinal) => {
    const share = draw(hash, purposes.fault, ordinal);
    if (share >= errors + broken) return undefined;
    return pick(
      share < errors ? serverFaults : brokenAnswers,
      draw(hash, purposes.faultKind, ordinal),
    );
  };
}

/**
 * Faults as they occur in practice: the service itself speaks JSON, the gateway in front of it does
 * not.
 */
const serverFaults: readonly SandboxReply[] = [
  {
    status: 500,
    body: { error: { code: 'internal', message: 'Something went wrong on our side.' } },
  },
  {
    status: 502,
    headers: { 'Content-Type': 'text/html' },
    body: '<html><head><title>502 Bad Gateway</title></head><body>502 Bad Gateway</body></html>',
  },
  { status: 503, body: { error: { code: 'unavailable', message: 'Temporarily unavailable.' } } },
];

const brokenAnswers: readonly SandboxReply[] = [
  { body: '{"name":"Cut","description":"This JSON stops in the middle of a te', broken: true },
  { body: '<!doctype html><title>Maintenance</title><p>Back soon.</p>', broken: true },
  { body: '', broken: true },
  {
    body: { name: 'Cut', description: 'The connection closes within this answer.' },
    breakOff: true,
  },
  'reset',
];

function pick<T>(list: readonly T[], share: number): T | undefined {
  return list[Math.floor(share * list.length)];
}
