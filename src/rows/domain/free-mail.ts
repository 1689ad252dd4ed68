import { createRequire } from 'node:module';

/**
 * Whether everybody can have an e-mail address at a domain, so that it says nothing of whoever has
 * one: free mail, and mail of providers of Internet access. Read from the package `email-providers`
 * when it is asked for the first time.
 */
export function isFreeMail(domain: string): boolean {
  freeMail ??= loadFreeMail();
  return freeMail.has(domain);
}

let freeMail: ReadonlySet<string> | undefined;

/** Known to lack in the package. */
const ADDED =
  '139.com 189.cn citromail.hu duck.com fastmail.com fastmail.fm gmx.ch mynet.com nifty.com online.no ' +
  'otenet.gr posteo.de riseup.net sohu.com suomi24.fi telefonica.net tuta.com tuta.io tutamail.com ' +
  'tutanota.com tutanota.de ziggo.nl';

/** In the package, although addresses there are of the company that it belongs to, or of an example. */
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
