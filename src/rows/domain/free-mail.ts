import { createRequire } from 'node:module';

/**
 * Whether anybody can have an e-mail address at a domain, so that it says nothing about the owner
 * of an address there. These are free mail services, and mail of Internet access providers. Loaded
 * from the package `email-providers` at the first call.
 */
export function isFreeMail(domain: string): boolean {
  freeMail ??= loadFreeMail();
  return freeMail.has(domain);
}

let freeMail: ReadonlySet<string> | undefined;

/** Providers that are known to be missing in the package. */
const ADDED =
  '139.com 189.cn citromail.hu duck.com fastmail.com fastmail.fm gmx.ch mynet.com nifty.com online.no ' +
  'otenet.gr posteo.de riseup.net sohu.com suomi24.fi telefonica.net tuta.com tuta.io tutamail.com ' +
  'tutanota.com tutanota.de ziggo.nl';

/**
 * Domains that are in the package, although addresses there belong to their company, or are
 * examples.
 */
const LEFT_OUT =
  'alibaba.com ancestry.com bt.com discovery.com dnsmadeeasy.com example.com facebook.com ' +
  'frontier.com games.com medscape.com mydomain.com';

function loadFreeMail(): ReadonlySet<string> {
  const require = createRequire(import.meta.url);
  const listed = require('email-providers/all.json') as readonly string[];
  const domains = new Set([...listed, ...ADDED.split(' ')]);
  for (const domain of LEFT_OUT.split(' ')) domains.delete(domain);
  return domains;
}
