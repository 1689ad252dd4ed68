import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address belongs to the public internet: not to this machine, nor its network, nor
 * any of the ranges that IANA keeps for other purposes. Anything other than a plain IP address does
 * not.
 *
 * @see {@link https://www.iana.org/assignments/iana-ipv4-special-registry IANA's registry}
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicIPv4(parsed);
  // In networks without IPv4, DNS64 gives IPv4 hosts addresses in this range.
  if (parsed.range() === 'rfc6052') return isPublicIPv4(embeddedIPv4(parsed));
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST);
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !SERVICES.has(address.toString());
}

function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

/** The part of IPv6 that has been given out so far. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** Public by their number, but answered by the machine's own cloud (Azure's platform). */
const SERVICES: ReadonlySet<string> = new Set(['168.63.129.16']);
