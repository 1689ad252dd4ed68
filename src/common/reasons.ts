/**
 * Whose fault it is that a row, a call or a picture has no good end.
 *
 * - `row`: the cell of the list, or its row.
 * - `domain`: the domain, or the record about it.
 * - `caller`: the credential or its plan.
 * - `api`: the API is away, slow or faulty.
 * - `machine`: this machine, or its proxy or resolver. Other machines may well reach the API.
 * - `address`: what was reached is not what was meant, or cannot be spoken with. In the first calls
 *   a sign that the address or a setting is wrong.
 * - `picture`: what a logo's URL leads to.
 * - `setting`: what the options of this run leave out.
 */
export type About =
  | 'row'
  | 'domain'
  | 'caller'
  | 'api'
  | 'machine'
  | 'address'
  | 'picture'
  | 'setting';

/** What is known of a reason. */
interface ReasonWords {
  readonly about: About;
  /** A clause that says what happened, without a full stop. */
  readonly what: string;
  /** A clause that says what to do about it, without a full stop. @default nothing */
  readonly check?: string;
  /** What is in the cell, in a few words, for those about a row. */
  readonly short?: string;
  /** The call never reached the API, so that nothing is billed for it. @default of all about this machine */
  readonly isUnsent?: true;
}

const CORRECT = 'put the domain of the company there';
const IS_API_UP = 'check --base-url, and whether the API is up';
const ASK_FOR_ACCESS = 'ask its makers what the credential and the plan allow';
const ASK_MAKERS = 'ask the makers of the API';

/**
 * Every reason, as it stands in a failures file, in the store and in the queue's outcomes. Those that
 * are not listed are `http_<status>`, and `proxy_<reason>`, which are about this machine. What an API
 * wrote is never a reason: it stands beside it.
 */
export const REASONS = {
  // of rows
  empty: {
    about: 'row',
    short: 'blank',
    what: 'the cell is blank, or says that there is nothing, and nothing was asked',
  },
  ip_address: {
    about: 'row',
    short: 'an IP address',
    what: 'the cell holds an IP address, not a name',
    check: CORRECT,
  },
  single_label: {
    about: 'row',
    short: 'no web address',
    what: 'the cell holds a single word, such as localhost',
    check: CORRECT,
  },
  public_suffix: {
    about: 'row',
    short: 'no web address',
    what: 'the cell holds an ending that many share, such as co.uk',
    check: CORRECT,
  },
  contains_space: {
    about: 'row',
    short: 'several words',
    what: 'the cell holds several words',
    check: CORRECT,
  },
  several_domains: {
    about: 'row',
    short: 'several addresses',
    what: 'the cell holds more than one domain',
    check: 'leave one',
  },
  unknown_tld: {
    about: 'row',
    short: 'no known ending',
    what: 'the name ends in what is no top-level domain',
    check: 'correct it',
  },
  free_mail: {
    about: 'row',
    short: 'free mail',
    what: 'an address at a provider of free mail is no company',
    check: CORRECT,
  },
  shared_host: {
    about: 'row',
    short: 'a shared site',
    what: 'the cell leads to a page on a host that many share',
    check: CORRECT,
  },
  too_many_cells: {
    about: 'row',
    short: 'too many cells',
    what: 'the row has more cells than the header, so the domain may be in another column',
    check: 'quote the text that holds a delimiter',
  },
  malformed: {
    about: 'row',
    short: 'no web address',
    what: 'the cell holds no name of a host',
    check: CORRECT,
  },

  // no answer came
  timeout: {
    about: 'api',
    what: 'no answer came in time',
    check: 'give it longer (--timeout), or fewer calls at once (--concurrency)',
  },
  connection_refused: {
    about: 'api',
    isUnsent: true,
    what: 'the connection was refused',
    check: IS_API_UP,
  },
  connection_reset: {
    about: 'api',
    what: 'the connection was broken off before there was an answer',
    check: IS_API_UP,
  },
  network_error: {
    about: 'api',
    what: 'there was no connection to the API',
    check: IS_API_UP,
  },
  too_many_open_files: {
    about: 'machine',
    what: 'too many files are open here',
    check: 'make fewer calls at once (--concurrency), or raise the limit (ulimit -n)',
  },
  no_local_port: {
    about: 'machine',
    what: 'no port of this machine is left for a connection',
    check:
      'make fewer calls at once (--concurrency), or check --base-url if no connection was ever made',
  },
  no_route: {
    about: 'machine',
    what: 'this machine has no route to the API',
    check: 'check the network, and --base-url if no call ever got through',
  },
  dns_unavailable: {
    about: 'machine',
    what: 'the name of the API could not be looked up, because the resolver (DNS) did not answer',
    check: 'check the network and the resolver of this machine',
  },
  dns_failure: {
    about: 'address',
    isUnsent: true,
    what: "the API's name is not known (DNS)",
    check: 'check --base-url and the network',
  },
  tls_failure: {
    about: 'address',
    isUnsent: true,
    what: "the API's certificate was not accepted, or there is no TLS that both sides speak (or none at all: then it is http://)",
    check:
      'check --base-url, the clock, and NODE_EXTRA_CA_CERTS for a certificate authority of your own',
  },
  invalid_http: {
    about: 'address',
    what: 'an answer came that is no HTTP/1.1 and cannot be read',
    check: 'check --base-url, for one its port, and ask the makers of the API',
  },
  proxy_403: {
    about: 'address',
    isUnsent: true,
    what: 'the call was refused by the proxy (403)',
    check: 'ask for the API to be let through, or name it in NO_PROXY',
  },
  proxy_407: {
    about: 'address',
    isUnsent: true,
    what: 'the call was refused by the proxy (407)',
    check: 'check the user and the password in HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_dns_failure: {
    about: 'address',
    isUnsent: true,
    what: "the proxy's name is not known (DNS)",
    check: 'check HTTP_PROXY or HTTPS_PROXY',
  },
  proxy_tls_failure: {
    about: 'address',
    isUnsent: true,
    what: 'the TLS of the proxy failed',
    check: 'check the scheme in HTTP_PROXY or HTTPS_PROXY, and NODE_EXTRA_CA_CERTS',
  },
  proxy_connection_refused: {
    about: 'machine',
    what: 'the proxy refused the connection',
    check: 'check HTTP_PROXY or HTTPS_PROXY, and whether the proxy is up',
  },

  // an answer came that is none of the API's, or not about the domain
  no_json: {
    about: 'address',
    what: 'the answer is no JSON object, but a page for people or other text',
    check: 'check --base-url, and whether a proxy or a login stands between',
  },
  not_found_page: {
    about: 'address',
    what: 'the API answered 404 with a page that is no JSON, so the path is wrong',
    check: 'check --base-url',
  },
  bad_request_page: {
    about: 'address',
    what: 'the API refused the calls themselves with a page that is no JSON (400 and the like)',
    check: 'check --base-url, for one its https:// and its port',
  },
  same_answer: {
    about: 'address',
    what: 'the API gave one and the same answer (200) for different domains',
    check: 'check --base-url, --param, and whether a login or a page of welcome stands between',
  },
  wall: {
    about: 'address',
    what: 'a wall against robots stands before the API and let the calls get no further',
    check: 'check --base-url, and ask the makers of the API to let this machine through',
  },
  redirect_without_domain: {
    about: 'address',
    what: 'the API sent the call to an address without the domain, such as a login',
    check: 'check --base-url, for one its https:// and its host',
  },
  redirect_to_another_origin: {
    about: 'address',
    what: 'the API sent the call to another server, which does not get the credential',
    check: 'check --base-url, for one its https:// and its host',
  },
  unknown_content_encoding: {
    about: 'address',
    what: 'the answer has a content encoding that is not known here, and gzip and br were asked for',
    check: 'ask the makers of the API, or whoever runs the proxy in front of it',
  },
  unknown_charset: {
    about: 'address',
    what: 'the answer is not in the charset that it names, which is UTF-8 if it names none',
    check: 'ask the makers of the API for UTF-8',
  },

  // an answer came that cannot be used
  invalid_response: {
    about: 'api',
    what: 'the answer was empty, broke off, or could not be unpacked',
    check: ASK_MAKERS,
  },
  invalid_json: {
    about: 'domain',
    what: 'the answer is whole, but no valid JSON object',
    check: ASK_MAKERS,
  },
  empty_answer: {
    about: 'domain',
    what: 'the answer holds no record, but blanks, ids and times at the most',
  },
  failure_in_answer: { about: 'domain', what: 'the API told of a failure in a good answer' },
  no_record: {
    about: 'address',
    what: 'the answer has no record, at least not where one was looked for',
    check: "check --base-url, and 'data' of the profile",
  },
  response_too_large: {
    about: 'domain',
    what: 'the answer was larger than 10 MiB, or its headers than 16 KiB, and was not read',
    check: ASK_MAKERS,
  },
  too_many_redirects: {
    about: 'domain',
    what: 'the call was sent from place to place',
    check: ASK_MAKERS,
  },
  missing_in_reply: {
    about: 'domain',
    what: 'the reply to several domains has no answer about this one',
  },
  worker_crashed: {
    about: 'domain',
    what: 'each worker that took it was lost in the midst of it',
    check: 'look at their logs',
  },

  // statuses of which more is known than of all
  http_202: { about: 'domain', what: 'the API is still finding out (202)' },
  http_204: { about: 'domain', what: 'the API does not know the domain (204)' },
  http_400: { about: 'domain', what: 'the API refused the domain (400)' },
  http_401: {
    about: 'caller',
    what: 'the API refused the credential for this domain (401)',
    check: ASK_FOR_ACCESS,
  },
  http_402: {
    about: 'caller',
    what: 'the API wants to be paid for this domain (402)',
    check: ASK_FOR_ACCESS,
  },
  http_403: {
    about: 'caller',
    what: 'the credential may not see this domain (403)',
    check: ASK_FOR_ACCESS,
  },
  http_404: { about: 'domain', what: 'the API does not know the domain (404)' },
  http_408: { about: 'api', what: 'the API gave up waiting (408)' },
  http_410: { about: 'domain', what: 'the API no longer knows the domain (410)' },
  http_422: { about: 'domain', what: 'the API cannot use the domain (422)' },
  http_429: {
    about: 'api',
    what: 'the API refused these as too many calls each time (429)',
    check: 'give a lower --rate',
  },
  http_451: { about: 'domain', what: 'the API may not answer for reasons of law (451)' },
  http_501: { about: 'api', what: 'the API cannot do what is asked (501)', check: ASK_MAKERS },

  // pictures
  no_url: { about: 'picture', what: 'the answer has no URL of a picture' },
  invalid_url: { about: 'picture', what: 'what the answer has is no URL' },
  unsupported_scheme: { about: 'picture', what: 'the URL begins with neither http nor https' },
  unsupported_port: { about: 'picture', what: 'the URL names a port that no web site has' },
  too_large: { about: 'picture', what: 'the picture is too large' },
  not_a_picture: { about: 'picture', what: 'what came is no picture' },
  svg_left_out: { about: 'setting', what: 'the picture is SVG, which is left out' },
  private_address: { about: 'setting', what: 'the URL leads into a private network' },
  not_asked: { about: 'setting', what: 'nothing was asked' },
  host_out: { about: 'api', what: 'the host failed several times in a row' },
  not_written: { about: 'machine', what: 'the file could not be written' },
} as const satisfies Readonly<Record<string, ReasonWords>>;

type Listed = keyof typeof REASONS;

/** One of our own words for why something has no good end. */
export type Reason = Listed | `http_${number}` | `proxy_${string}`;

/** The listed reasons about one thing. */
export type ReasonAbout<A extends About> = {
  [K in Listed]: (typeof REASONS)[K]['about'] extends A ? K : never;
}[Listed];

/** Whether a text is one of our reasons, rather than what an API wrote. */
export function isReason(text: string): text is Reason {
  return Object.hasOwn(REASONS, text) || /^(?:http_\d{3}|proxy_\w+)$/.test(text);
}

/** Whose fault a reason is. */
export function aboutOf(reason: string): About {
  const listed = wordsOf(reason)?.about;
  if (listed) return listed;
  if (reason.startsWith('proxy_')) return 'machine';
  return reason.startsWith('http_4') ? 'domain' : 'api';
}

/** A sign that an answer comes from another server or another path. */
export type Misdirection = ReasonAbout<'address'>;

/** Whether a reason in the first calls is a sign of a wrong address or setting. */
export function isMisdirection(reason: string): reason is Misdirection {
  return aboutOf(reason) === 'address';
}

/** Whether a call without an answer never reached the API, so that nothing is billed for it. */
export function isUnsent(reason: string): boolean {
  return wordsOf(reason)?.isUnsent === true || aboutOf(reason) === 'machine';
}

/** What a reason means and what to do about it, in a sentence; undefined for what is not listed. */
export function sentenceOn(reason: Listed): string;
export function sentenceOn(reason: string): string | undefined;
export function sentenceOn(reason: string): string | undefined {
  const words = wordsOf(reason);
  if (!words) return undefined;
  const { what, check } = words;
  return `${what.charAt(0).toUpperCase()}${what.slice(1)}${check === undefined ? '' : `: ${check}`}.`;
}

/** What is in a cell without a domain, in a few words. */
export function shortOf(reason: string): string {
  return wordsOf(reason)?.short ?? 'no web address';
}

function wordsOf(reason: string): ReasonWords | undefined {
  return Object.hasOwn(REASONS, reason) ? REASONS[reason as Listed] : undefined;
}
