import { BlockList, isIP } from 'node:net';
import { getConnInfo } from '@hono/node-server/conninfo';
import type { Context, MiddlewareHandler } from 'hono';
import ipaddr from 'ipaddr.js';
import { type AllowedHost, isAllowed, portOf } from '../common/hosts.ts';
import type { AddressRange } from '../options/kinds.ts';

/** The headers that say where a request comes from. */
export interface OriginHeaders {
  readonly host?: string | undefined;
  readonly origin?: string | undefined;
  /** `Sec-Fetch-Site`, which pages cannot set themselves. */
  readonly fetchSite?: string | undefined;
}

/** Whether an address can be reached from this machine only. */
export function isLocalAddress(host: string): boolean {
  if (host.toLowerCase() === 'localhost') return true;
  return ipaddr.isValid(host) && ipaddr.process(host).range() === 'loopback';
}

/**
 * Whether a `Host` header is none that a page elsewhere could use. Such a page can make its own
 * name resolve to an address of ours and then read everything that is served there (DNS rebinding),
 * but its name gives it away. An address is no such name.
 *
 * @param allowed names that are known to be ours
 */
export function isKnownHost(host: string, allowed: readonly AllowedHost[] = []): boolean {
  if (!URL.canParse(`http://${host}`)) return false;
  const url = new URL(`http://${host}`);
  if (url.host !== host.toLowerCase().replace(/:80$/, '')) return false; // a path, a user, 127.1
  const { hostname } = url;
  if (hostname === 'localhost' || isIP(hostname.replaceAll(/^\[|\]$/g, '')) > 0) return true;
  return isAllowed(allowed, { hostname, port: portOf(url) });
}

/** Refuses requests under a name that is not known. */
export function createHostCheck(allowed: readonly AllowedHost[], label: string): MiddlewareHandler {
  return async (context, next) => {
    if (isKnownHost(context.req.header('host') ?? '', allowed)) return await next();
    const advice = `Ask for localhost or an address; ${label} allows another name.`;
    return context.text(`There is nothing here under that name. ${advice}\n`, 421);
  };
}

/**
 * Whether a request that changes something comes from our own page. Browsers say so by themselves
 * if the page has TLS or is on their machine. Otherwise the origin of the page has to be the host
 * that is asked, so a proxy has to pass the host on. A request that says nothing is refused.
 */
export function isFromOurPage({ host, origin, fetchSite }: OriginHeaders): boolean {
  if (fetchSite !== undefined) return fetchSite === 'same-origin';
  if (origin === undefined || host === undefined) return false;
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase();
}

/** Finds the address that a request comes from. */
export type AddressFinder = (context: Context) => string;

/**
 * Makes a finder of addresses. What `X-Forwarded-For` says is believed from proxies that are
 * trusted, and from the last of its addresses on: anybody may write the first ones. Of IPv6 it is
 * the network of 64 bits, since one machine may have all addresses in it.
 */
export function createAddressFinder(trusted: readonly AddressRange[]): AddressFinder {
  const proxies = new BlockList();
  for (const { address, bits } of trusted) proxies.addSubnet(address, bits, familyOf(address));
  return (context) => {
    const hops = (context.req.header('x-forwarded-for') ?? '').split(',').toReversed();
    let address = getConnInfo(context).remote.address ?? '';
    for (const hop of hops) {
      if (isIP(hop.trim()) === 0 || !proxies.check(address, familyOf(address))) break;
      address = hop.trim();
    }
    if (!ipaddr.isValid(address)) return address;
    const parsed = ipaddr.process(address);
    return parsed instanceof ipaddr.IPv6
      ? parsed.parts.slice(0, 4).map(hex).join(':')
      : parsed.toString();
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}

function hex(part: number): string {
  return part.toString(16);
}
