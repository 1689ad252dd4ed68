import type { AddressReason } from '../brand/network-error.ts';
import type { Misdirection } from '../brand/outcome.ts';
import type { Stop } from '../worker/stop-switch.ts';

// The words for every reason, in one place. Those of the network, with what they are about, stand
// where they are found: `brand/network-error.ts`.

/** What people are told of a reason that stands in a failures file. */
export interface ReasonWords {
  /** A few words, for a table. */
  readonly short?: string;
  /** A clause about one lookup that somebody waits for. */
  readonly clause?: string;
  /** What it means for rows, and what to do about it, in a sentence or two. */
  readonly advice: string;
}

export const RETRIED = 'The next run tries again.';
export const AGAIN =
  'Not asked, because the run stopped first. Run the same command again to go on.';

/** The words for a reason; undefined for what the API itself said, and for those of the network. */
export function findReason(code: string): ReasonWords | undefined {
  return Object.hasOwn(REASONS, code) ? REASONS[code] : undefined;
}

const REASONS: Readonly<Record<string, ReasonWords>> = {
  // Of cells.
  empty: {
    advice: 'The cell is blank, or says that there is nothing. Nothing was asked.',
  },
  ip_address: {
    advice: 'The cell holds an IP address, not a name. Put the domain of the company there.',
  },
  single_label: {
    advice: 'The cell holds a word without a dot, such as a company name. Put its domain there.',
  },
  public_suffix: {
    advice: "The cell holds a registry's own name, such as co.uk. Put the whole domain there.",
  },
  label_too_long: {
    advice: 'A part of the name is longer than a domain can have. Correct the cell.',
  },
  domain_too_long: {
    advice: 'The name is longer than a domain can be. Correct the cell.',
  },
  contains_space: {
    advice: 'The cell holds several words, such as a company name. Put its domain there.',
  },
  several_domains: {
    advice: 'The cell holds more than one domain. Leave the one to look up.',
  },
  unknown_tld: {
    advice: 'The name ends in what is no top-level domain on the Internet. Correct the cell.',
  },
  free_mail: {
    advice:
      'The cell holds an address at a provider of free mail, which says nothing about a company. Put its domain there.',
  },
  too_many_cells: {
    advice:
      'The row has more cells than the header, so the domain may be in another column. Quote the text that holds a delimiter.',
  },
  torn_row: {
    advice:
      'The row is the rest of the one above, so its cells are in other columns. Quote the text that holds a line break.',
  },
  shared_host: {
    advice:
      'The cell leads to a page on a host that many share, such as a social network, which says nothing about a company. Put its domain there, or give --keep-shared-hosts.',
  },
  malformed: {
    advice: 'The name has characters that no domain can have. Correct the cell.',
  },
  // Of calls.
  redirect_without_domain: {
    clause: 'the API redirects to an address without the domain; check --base-url',
    advice:
      'The API sent the call to an address without the domain, such as a login. Check --base-url.',
  },
  invalid_response: {
    short: '200 without a JSON object',
    clause: 'the answer was no JSON object in UTF-8; check --base-url',
    advice: `The API answered 200 with something that is no JSON object in UTF-8. ${RETRIED}`,
  },
  response_too_large: {
    short: 'too large to be read',
    clause: 'the answer was longer than 10 MiB, or its headers than 16 KiB',
    advice:
      'The answer was larger than 10 MiB, or its headers than 16 KiB, and was not read. Ask the makers of the API.',
  },
  unavailable: {
    clause: 'the API says that it is not there for now',
    advice: `The API said that it was under maintenance or not there for now. ${RETRIED}`,
  },
  too_many_redirects: {
    clause: 'the API redirects again and again',
    advice: 'The API sent the call from place to place. Ask its makers.',
  },
  redirect_to_another_origin: {
    clause: 'the API redirects to another origin; check --base-url',
    advice:
      'The API sent the call to another server, which does not get the credential. Check --base-url.',
  },
  throttled: {
    clause: 'the API refused it for ten minutes, each time for the moment (429 and the like)',
    advice:
      'The API throttled these for ten minutes on end (429 and the like). Give a lower --rate.',
  },
  // Of workers on a queue.
  worker_has_other_api: {
    advice:
      'The worker that took these asks another API. Start workers with the same --base-url and --param as the run, then run the same command again.',
  },
  worker_lost: {
    advice:
      'Every worker that took one of these was lost in the midst of it. Look at their logs; the next run tries again.',
  },
  // Of runs that stopped.
  interrupted: {
    advice: AGAIN,
  },
  max_calls: {
    advice: 'Not asked: all calls of --max-calls were made. The next run asks these first.',
  },
  max_cost: {
    advice:
      'Not asked: the next answer could have cost more than --max-cost left. The next run asks these first.',
  },
  max_calls_per: {
    advice:
      'Not asked: all calls of --max-calls-per were made. The next run asks these first, when there are calls again.',
  },
  max_failed: {
    advice:
      'Not asked: too many lookups failed before. Look at the other reasons, then run the same command again.',
  },
  quota: {
    advice:
      'Not asked: the quota of the API was used up. Run the same command again when there is more.',
  },
  unauthorized: {
    advice:
      'Not asked: the API refused the credential. Check --auth and BRANDFILL_API_KEY, then run the same command again.',
  },
  forbidden: {
    advice:
      'Not asked: the API answered 403 again and again. Check what the credential is allowed, then run the same command again.',
  },
  refused: {
    advice:
      'Not asked: the API refused five different domains in the same way. Check the credential, the plan, --param and --base-url, then run the same command again.',
  },
  outage: {
    advice: 'Not asked: the API was out for too long. Run the same command again when it is back.',
  },
  misdirected: {
    advice: 'Not asked: the first calls went to a wrong address. Check --base-url.',
  },
  pruned: {
    advice:
      'Their outcomes were removed from the store while the run went on. Run the same command again, and prune only what is too old for runs: older than --fresh and --fresh-not-found.',
  },
};

/** Signs that the first calls, or the only one, went to a wrong address: what came, what to check. */
export const MISDIRECTIONS: Readonly<
  Record<Exclude<Misdirection, AddressReason>, { readonly first: string; readonly one: string }>
> = {
  not_found_page: {
    first:
      'The first calls were all answered 404 with a page that is no JSON: the path is wrong, check --base-url.',
    one: 'The answer was 404 with a page that is no JSON, as a wrong path gives: check --base-url.',
  },
  not_found_doubled: {
    first:
      'The first calls were all answered 404, and --base-url ends in /v1, which each call adds by itself: leave it off.',
    one: 'The answer was 404, and --base-url ends in /v1, which each call adds by itself: leave it off, or try a domain that is known.',
  },
  bad_request_page: {
    first:
      'The first calls were all answered 400 with a page that is no JSON: check --base-url, for one its https:// and its port.',
    one: 'The answer was 400 with a page that is no JSON: check --base-url, for one its https:// and its port.',
  },
  no_json: {
    first:
      'The first calls were all answered 200 with something that is no JSON object, such as a page for people: check --base-url, and whether a proxy or a login stands between.',
    one: 'The answer was 200 with something that is no JSON object, such as a page for people: check --base-url, and whether a proxy or a login stands between.',
  },
  broken_body: {
    first:
      'The first calls were all answered 200 with a body that broke off, or is not packed as its Content-Encoding says: ask the makers of the API, or whoever runs the proxy in front of it, and check --base-url.',
    one: 'The answer was 200 with a body that broke off, or is not packed as its Content-Encoding says: ask the makers of the API, or whoever runs the proxy in front of it.',
  },
  redirect_to_another_origin: {
    first:
      'The first calls were all redirected to another origin: check --base-url, for one its https:// and its host.',
    one: 'The API redirects to another origin: check --base-url, for one its https:// and its host.',
  },
  same_answer: {
    first:
      'Five different domains got one and the same answer (200), so it is about none of them: check --base-url, --param, and whether a login or a page of welcome stands between.',
    one: 'The answer is the same for different domains: check --base-url, and whether a login or a page of welcome stands between.',
  },
  lost_domain: {
    first:
      'The first calls were all redirected to an address without the domain, which can only answer about something else, such as a login: check --base-url, for one its https:// and its host.',
    one: 'The API redirects to an address without the domain, which can only answer about something else, such as a login: check --base-url, for one its https:// and its host.',
  },
  bot_wall: {
    first:
      'The first calls were all refused with a page for people, such as a check for bots shows: it comes from what stands before the API, not from the API. Ask its makers to let your address or your User-Agent (--header) through, and check --base-url.',
    one: 'The answer was a refusal with a page for people, such as a check for bots shows: ask the makers of the API to let your address or your User-Agent (--header) through, and check --base-url.',
  },
};

/** Why a run or a worker stops. */
export const STOPS: Readonly<Record<Stop['reason'], string>> = {
  unauthorized:
    'The API refused the credential (401): check --auth and BRANDFILL_API_KEY. No further call is made.',
  forbidden:
    'The API answered 403 five times in a row: check --auth and what the credential is allowed. No further call is made.',
  quota: 'The quota of the API is used up. No further call is made.',
  outage: 'The API has been out for longer than --max-outage. No further call is made.',
  refused:
    'The API refused five different domains in the same way, with no success between: check --auth, --param and --base-url. No further call is made.',
  misdirected: 'The first calls all had the same result. No further call is made.',
  max_failed:
    'More lookups failed than --max-failed allows: look at the reasons in the failures file. No further call is made.',
  max_calls: 'All calls of --max-calls are made. No further call is made.',
  max_cost: 'The next answer could cost more than --max-cost leaves. No further call is made.',
  max_calls_per:
    'All calls of --max-calls-per are made, by this run and others together. No further call is made.',
  unusable_store:
    'No further call is made, and the answers that came since then go to the outputs alone.',
  interrupted:
    'Interrupted: no further call is made, calls in flight get 10 s. Interrupt again to end at once.',
  error: 'Stopped by an error.',
};
