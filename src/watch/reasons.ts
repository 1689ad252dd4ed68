import { type AddressReason, sentenceOn } from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
import { STATUSES, type StatusName, upperFirst } from './words.ts';

// The words for reasons, said once for terminal, log, report and page. Those of the network stand where
// they are found out: `brand/network-error.ts`.

/** What a reason means, and what to do about it, in a sentence or two; undefined for what the API said. */
export function sentenceFor(reason: string): string | undefined {
  const words = wordsFor(reason);
  return typeof words === 'object' ? words[1] : (words ?? sentenceOn(reason));
}

/** What is in a cell without a domain, in a few words. */
export function shortOf(reason: string): string {
  const words = wordsFor(reason);
  return typeof words === 'object' ? words[0] : 'no web address';
}

function wordsFor(reason: string): Words | undefined {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as keyof typeof REASONS] : undefined;
}

/** The same of the outcome of a row. */
export function adviseOn({ status, reason, httpStatus = 0 }: Reasoned): string {
  const means = sentenceFor(reason);
  if (status !== 'failed' && status !== 'stale') {
    return means ?? upperFirst(`${STATUSES[status].means}.`);
  }
  const unknown =
    httpStatus >= 500 ? 'The API had a fault of its own each time.' : 'No usable answer came.';
  const kept = status === 'stale' ? ' These rows keep an older answer.' : '';
  return `${means ?? unknown} The next run tries again.${kept}`;
}

/** The part of an outcome that says why. */
interface Reasoned {
  readonly status: StatusName;
  readonly reason: string;
  readonly httpStatus?: number | undefined;
}

type Words = string | readonly [short: string, sentence: string];

const CORRECT = 'Put the domain of the company there.';
const NO_JSON =
  'The API answered with something that is no JSON object, such as a page for people. Check --base-url, and whether a proxy or a login stands between.';
const LOST_DOMAIN =
  'The API sent the call to an address without the domain, such as a login. Check --base-url, for one its https:// and its host.';

/** Reasons of rows, as they stand in a failures file, and signs of a wrong address. */
export const REASONS = {
  empty: ['blank', 'The cell is blank, or says that there is nothing. Nothing was asked.'],
  ip_address: ['an IP address', `The cell holds an IP address, not a name. ${CORRECT}`],
  contains_space: ['several words', `The cell holds several words. ${CORRECT}`],
  several_domains: ['several addresses', 'The cell holds more than one domain. Leave one.'],
  unknown_tld: ['no known ending', 'The name ends in what is no top-level domain. Correct it.'],
  free_mail: ['free mail', `An address at a provider of free mail is no company. ${CORRECT}`],
  shared_host: ['a shared site', `The cell leads to a page on a host that many share. ${CORRECT}`],
  too_many_cells: [
    'too many cells',
    'The row has more cells than the header, so the domain may be in another column. Quote the text that holds a delimiter.',
  ],
  invalid_response: NO_JSON,
  no_json: NO_JSON,
  response_too_large:
    'The answer was larger than 10 MiB, or its headers than 16 KiB, and was not read. Ask the makers of the API.',
  not_found_page:
    'The API answered 404 with a page that is no JSON: the path is wrong, check --base-url.',
  bad_request_page:
    'The API answered 400 with a page that is no JSON. Check --base-url, for one its https:// and its port.',
  same_answer:
    'The API gave one and the same answer (200) for different domains. Check --base-url, --param, and whether a login or a page of welcome stands between.',
  lost_domain: LOST_DOMAIN,
  redirect_without_domain: LOST_DOMAIN,
  redirect_to_another_origin:
    'The API sent the call to another server, which does not get the credential. Check --base-url, for one its https:// and its host.',
  too_many_redirects: 'The API sent the call from place to place. Ask its makers.',
  throttled:
    'The API throttled these for ten minutes on end (429 and the like). Give a lower --rate.',
  worker_crashed:
    'Each worker that took one of these was lost in the midst of it. Look at their logs.',
} as const satisfies Readonly<
  Record<string, Words> & Record<Exclude<Misdirection, AddressReason>, Words>
>;
