import { createRequire } from 'node:module';
import FREE_MAIL from './free-mail.json' with { type: 'json' };
import HOSTS from './shared-hosts.json' with { type: 'json' };

/**
 * An entry of `shared-hosts.json`, of hosts whose pages belong to others than the owner of the
 * host. What is behind `linkedin.com/` says nothing about LinkedIn, and `linkedin.com` alone is
 * LinkedIn.
 *
 * It is a domain, with all hosts below it; `=` before it leaves those out (there each customer has
 * a host), `.*` at its end stands for any public suffix. A path limits it to what is behind that
 * path. `links` lead elsewhere: their target stands in them at times, behind `?` in the parameter
 * of that name.
 */
interface Entry {
  readonly path: string;
  readonly isLink: boolean;
  readonly parameter: string | undefined;
}

/**
 * Pages that a host has of its own, also in a language. Behind some of these names nobody else has
 * any.
 */
const OWN_PAGE =
  /^[\\/]+(?:(?:-[\\/]+[a-z]{2}|[a-z]{2}[-_][a-z]{2})[\\/]+)?(?:(?:about(?:-?us)?|careers?|press|newsroom|legal|privacy|investors?)(?:[\\/].*)?|company|jobs|contact(?:-us)?|news|terms|imprint|impressum|team|pricing|help|support|login|signup)(?:\.(?:html?|php|aspx))?[\\/]?(?:[?#].*)?$/is;

/**
 * Finds out whether what is behind a host belongs to others than the owner of the host.
 *
 * @param host in ASCII, without `www.`
 * @param registered its registrable part
 * @param behind path, query and fragment
 * @returns if so, texts that may be where it leads, the most likely first; none for most pages
 */
export function findSharedPage(
  host: string,
  registered: string,
  behind: string,
): readonly string[] | undefined {
  const entry = findEntry(host, registered, behind);
  const targets = entry?.isLink ? targetsIn(behind, entry.parameter) : [];
  const isOwn = HOME.test(behind) || (OWN_PAGE.test(behind) && !entry?.isLink);
  return targets.length > 0 || (entry && !isOwn) ? targets : undefined;
}

/** Nothing but the host's own front page. */
const HOME = /^[\\/]*(?:(?:index|default|home)(?:\.[a-z]{2,5})?[\\/]?)?(?:#(?![!/]).*)?$/i;

/** By their hosts; none for the labels in them. */
let entries: ReadonlyMap<string, readonly Entry[]> | undefined;

function readEntries(): ReadonlyMap<string, readonly Entry[]> {
  const found = new Map<string, Entry[]>();
  for (const [kind, list] of Object.entries(HOSTS)) {
    for (const text of list) {
      const [, name = '', path = '', parameter] = /^([^/?]+)([^?]*)(?:\?(.*))?$/.exec(text) ?? [];
      const entry = { path, isLink: kind === 'links', parameter };
      found.set(name, [...(found.get(name) ?? []), entry]);
      for (const label of name.split(/[=.]/)) found.set(label, []);
    }
  }
  return found;
}

/**
 * The entry of a host, or of one above it, with its public suffix or with any; that of links first.
 */
function findEntry(host: string, registered: string, behind: string): Entry | undefined {
  entries ??= readEntries();
  const label = registered.slice(0, registered.indexOf('.'));
  if (!entries.has(label)) return undefined; // as for most
  const anySuffix = host.slice(0, host.length - registered.length) + label;
  const names = [`=${host}`];
  for (const written of [host, `${anySuffix}.*`]) {
    for (let name = written; name.includes('.'); name = name.slice(name.indexOf('.') + 1))
      names.push(name);
  }
  const found = names.flatMap((name) => entries?.get(name) ?? []);
  const fitting = found.filter(({ path }) => isBehind(path, behind));
  return fitting.find(({ isLink }) => isLink) ?? fitting[0];
}

function isBehind(path: string, behind: string): boolean {
  const end = path.length;
  const isWord = /[\w-]{2}/.test(behind.slice(end - 1, end + 1)); // `/products` is not behind `/p`
  return behind.slice(0, end).toLowerCase() === path && !isWord;
}

const MOST_TARGETS = 8;
const URL_START = /^(?:https?:[\\/]|www\.)/i;
/**
 * A target in a path, as of archives, and in Proofpoint's links: `/v3/__https://acme.com__;!!…`.
 */
const IN_PATH = /[\\/](?:__)?(https?:[\\/].*?)(?:__(?:;.*)?)?$/i;
/** Proofpoint's older links: `u=https-3A__acme.com_about`. */
const DASHED = /^https?-3A_/i;

/** The addresses in a link: parameters that are URLs, and one in its path. */
function targetsIn(behind: string, parameter: string | undefined): readonly string[] {
  const [path = ''] = behind.split(/[?#]/, 1);
  const query = behind.slice(path.length + 1);
  const values = [...new URLSearchParams(query.replaceAll(/[;#]/g, '&'))]
    .filter(([name]) => parameter === undefined || name === parameter)
    .map(([, value]) => decode(value));
  const inPath = IN_PATH.exec(path)?.[1] ?? [];
  return values
    .concat(inPath)
    .filter((text) => URL_START.test(text))
    .slice(0, MOST_TARGETS);
}

function decode(text: string): string {
  let plain = DASHED.test(text) ? text.replaceAll('_', '/').replaceAll('-', '%') : text;
  // No further than to a URL: what is encoded in it is its own.
  for (let times = 0; times < 3 && plain.includes('%') && !URL_START.test(plain); times += 1) {
    try {
      plain = decodeURIComponent(plain);
    } catch {
      return plain;
    }
  }
  return plain;
}

/**
 * Whether anybody can have an e-mail address at a domain, so that it says nothing about the owner
 * of an address there. These are free mail services, and mail of Internet access providers. Loaded
 * from the package `email-providers` at the first call, without those of `free-mail.json` whose
 * addresses belong to their company or are examples, and with those that it lacks.
 */
export function isFreeMail(domain: string): boolean {
  listed ??= loadListed();
  return listed.has(domain);
}

let listed: ReadonlySet<string> | undefined;

function loadListed(): ReadonlySet<string> {
  const require = createRequire(import.meta.url);
  const all = new Set(require('email-providers/all.json') as readonly string[]);
  for (const domain of FREE_MAIL.leftOut) all.delete(domain);
  for (const domain of FREE_MAIL.added) all.add(domain);
  return all;
}
