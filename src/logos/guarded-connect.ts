import { lookup as systemLookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { buildConnector } from 'undici';
import { type AllowedHost, isAllowed, portOf } from '../common/allowed-hosts.ts';
import { isPublicAddress } from './public-address.ts';

/** An address that a name resolves to. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

export interface GuardOptions {
  /** Hosts whose address is not checked. */
  readonly allowed: readonly AllowedHost[];
  /** The longest that a connection may take to open, in milliseconds. */
  readonly timeoutMs: number;
  /** Finds all addresses of a name. @default the system's resolver */
  readonly resolve?: ((hostname: string) => Promise<readonly ResolvedAddress[]>) | undefined;
  /**
   * Whether connections to an address are allowed. @default for addresses of the public internet
   */
  readonly isPublic?: ((address: string) => boolean) | undefined;
}

/** A host has an address outside of the public internet. */
export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError';
}

/**
 * Opens connections to public addresses only. A name is resolved once, all its addresses are
 * checked, and one of those very addresses is connected to. So a name that resolves to something
 * else a moment later (DNS rebinding) gains nothing. Every connection goes this way, and therefore
 * every redirect.
 */
export function createGuardedConnector(options: GuardOptions): buildConnector.connector {
  const { allowed, timeoutMs, resolve = resolveBySystem, isPublic = isPublicAddress } = options;
  const connectorTo = (isFine: (address: string) => boolean): buildConnector.connector => {
    const lookup = createLookup(resolve, isFine);
    // Families are tried in turn, so sockets always ask for all addresses.
    return buildConnector({ timeout: timeoutMs, lookup, autoSelectFamily: true });
  };
  const guarded = connectorTo(isPublic);
  const open = connectorTo(() => true);

  return (target, callback) => {
    const hostname = target.hostname;
    if (isAllowed(allowed, { hostname, port: portOf(target) })) return open(target, callback);
    const literal = hostname.replace(/^\[(.*)\]$/, '$1');
    if (isIP(literal) !== 0 && !isPublic(literal)) {
      return callback(new PrivateAddressError(`${literal} is not a public address`), null);
    }
    guarded(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      // It cannot be another address by now, but nothing is sent before that is verified.
      const { remoteAddress } = socket;
      if (remoteAddress === undefined || isPublic(remoteAddress)) return callback(null, socket);
      socket.destroy();
      callback(new PrivateAddressError(`connected to ${remoteAddress}`), null);
    });
  };
}

/** A lookup for sockets that refuses a name if any of its addresses is not public. */
function createLookup(
  resolve: NonNullable<GuardOptions['resolve']>,
  isPublic: (address: string) => boolean,
): LookupFunction {
  return callbackify(async (hostname: string, _options: unknown) => {
    const addresses = await resolve(hostname);
    const other = addresses.find(({ address }) => !isPublic(address));
    if (other) throw new PrivateAddressError(`${hostname} is ${other.address}`);
    if (addresses.length > 0) return addresses;
    throw Object.assign(new Error(`${hostname} has no address`), { code: 'ENOTFOUND' });
  }) as unknown as LookupFunction;
}

async function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  return await systemLookup(hostname, { all: true });
}
