import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Whether an IP address is one of the public internet: not this machine, not its network, nor any of
 * the ranges that IANA keeps for other purposes. Anything that is no plain IP address is not.
 *
 * @see {@link https://www.iana.org/assignments/iana-ipv4-special-registry IANA's registry}
 */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv4) return isPublicIPv4(parsed);
  // Where there is no IPv4, DNS64 gives IPv4 hosts addresses of this range.
  if (parsed.range() === 'rfc6052') return isPublicIPv4(embeddedIPv4(parsed));
  return parsed.range() === 'unicast' && parsed.match(GLOBAL_UNICAST);
}

function isPublicIPv4(address: ipaddr.IPv4): boolean {
  return address.range() === 'unicast' && !SERVICES.has(address.toString());
}

function embeddedIPv4(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(-4));
}

/** All that is given out of IPv6 so far. */
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];

/** Public by their number, but answered by the machine's own cloud (Azure's platform). */
const SERVICES: ReadonlySet<string> = new Set(['168.63.129.16']);
