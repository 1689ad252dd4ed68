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
export type About = keyof typeof REASONS;

const CORRECT = 'put the domain of the company there';
const IS_API_UP = "check option 'baseUrl', and whether the API is up";
const ASK_FOR_ACCESS = 'ask its makers what the credential and the plan allow';
const ASK_MAKERS = 'ask the makers of the API';

/**
 * Every reason, as it stands in a failures file, in the store and in the queue's outcomes, by whose
 * fault it is, with a sentence that says what happened and what to do. Those that are not listed
 * are `http_<status>`, and `proxy_<reason>`, which are about this machine. What an API wrote is
 * never a reason: it stands beside it.
 */
export const REASONS = {
  row: {
    empty: 'The cell is blank, or says that there is nothing, and nothing was asked.',
    ip_address: `The cell holds an IP address, not a name: ${CORRECT}.`,
    single_label: `The cell holds a single word, such as localhost: ${CORRECT}.`,
    public_suffix: `The cell holds an ending that many share, such as co.uk: ${CORRECT}.`,
    contains_space: `The cell holds several words: ${CORRECT}.`,
    several_domains: 'The cell holds more than one domain: leave one.',
    unknown_tld: 'The name ends in what is no top-level domain: correct it.',
    free_mail: `An address at a provider of free mail is no company: ${CORRECT}.`,
    shared_host: `The cell leads to a page on a host that many share: ${CORRECT}.`,
    too_many_cells:
      'The row has more cells than the header, so the domain may be in another column: quote the text that holds a delimiter.',
    malformed: `The cell holds no name of a host: ${CORRECT}.`,
  },
  domain: {
    empty_answer: 'The answer holds no record, but blanks, ids and times at the most.',
    failure_in_answer: 'The API told of a failure in a good answer.',
    invalid_json: `The answer is whole, but no valid JSON object: ${ASK_MAKERS}.`,
    missing_in_reply: 'The reply to several domains has no answer about this one.',
    response_too_large: `The answer was larger than 10 MiB, or its headers than 16 KiB, and was not read: ${ASK_MAKERS}.`,
    too_many_redirects: `The call was sent from place to place: ${ASK_MAKERS}.`,
    worker_crashed: 'Each worker that took it was lost in the midst of it: look at their logs.',
    http_202: 'The API is still finding out (202).',
    http_204: 'The API does not know the domain (204).',
    http_400: 'The API refused the domain (400).',
    http_404: 'The API does not know the domain (404).',
    http_410: 'The API no longer knows the domain (410).',
    http_422: 'The API cannot use the domain (422).',
    http_451: 'The API may not answer for reasons of law (451).',
  },
  caller: {
    http_401: `The API refused the credential for this domain (401): ${ASK_FOR_ACCESS}.`,
    http_402: `The API wants to be paid for this domain (402): ${ASK_FOR_ACCESS}.`,
    http_403: `The credential may not see this domain (403): ${ASK_FOR_ACCESS}.`,
  },
  api: {
    timeout:
      "No answer came in time: give it longer (option 'timeout'), or fewer calls at once (option 'concurrency').",
    connection_reset: `The connection was broken off before there was an answer: ${IS_API_UP}.`,
    network_error: `There was no connection to the API: ${IS_API_UP}.`,
    invalid_response: `The answer was empty, broke off, or could not be unpacked: ${ASK_MAKERS}.`,
    host_out: 'The host failed several times in a row.',
    http_408: 'The API gave up waiting (408).',
    http_429:
      "The API refused these as too many calls (429), while it served others: ask its makers, or give a lower option 'rate'.",
    http_501: `The API cannot do what is asked (501): ${ASK_MAKERS}.`,
  },
  machine: {
    too_many_open_files:
      "Too many files are open here: make fewer calls at once (option 'concurrency'), or raise the limit (ulimit -n).",
    no_local_port:
      "No port of this machine is left for a connection: make fewer calls at once (option 'concurrency'), or check option 'baseUrl' if no connection was ever made.",
    no_route:
      "This machine has no route to the API: check the network, and option 'baseUrl' if no call ever got through.",
    dns_unavailable:
      'The name of the API could not be looked up, because the resolver (DNS) did not answer: check the network and the resolver of this machine.',
    proxy_connection_refused:
      'The proxy refused the connection: check HTTP_PROXY or HTTPS_PROXY, and whether the proxy is up.',
    not_written: 'The file could not be written.',
  },
  address: {
    connection_refused: `The connection was refused: ${IS_API_UP}.`,
    dns_failure: "The API's name is not known (DNS): check option 'baseUrl' and the network.",
    tls_failure:
      "The API's certificate was not accepted, or there is no TLS that both sides speak (or none at all: then it is http://): check option 'baseUrl', the clock, and NODE_EXTRA_CA_CERTS for a certificate authority of your own.",
    invalid_http:
      "An answer came that is no HTTP/1.1 and cannot be read: check option 'baseUrl', for one its port, and ask the makers of the API.",
    proxy_403:
      'The call was refused by the proxy (403): ask for the API to be let through, or name it in NO_PROXY.',
    proxy_407:
      'The call was refused by the proxy (407): check the user and the password in HTTP_PROXY or HTTPS_PROXY.',
    proxy_dns_failure: "The proxy's name is not known (DNS): check HTTP_PROXY or HTTPS_PROXY.",
    proxy_tls_failure:
      'The TLS of the proxy failed: check the scheme in HTTP_PROXY or HTTPS_PROXY, and NODE_EXTRA_CA_CERTS.',
    no_json:
      "The answer is no JSON object, but a page for people or other text: check option 'baseUrl', and whether a proxy or a login stands between.",
    no_record:
      "The answer has no record, at least not where one was looked for: check option 'baseUrl', and 'data' of the profile.",
    not_found_page:
      "The API answered 404 with a page that is no JSON, so the path is wrong: check option 'baseUrl'.",
    none_known:
      "The API knows none of the first domains (404, or no record), as where a path is wrong: check option 'baseUrl'. If it may well know none of them, option 'maxFailed' 100% goes on.",
    bad_request_page:
      "The API refused the calls themselves with a page that is no JSON (400 and the like): check option 'baseUrl', for one its https:// and its port.",
    same_answer:
      "The API gave one and the same answer (200) for different domains: check option 'baseUrl', option 'params', and whether a login or a page of welcome stands between.",
    wall: "A wall against robots stands before the API and let the calls get no further: check option 'baseUrl', and ask the makers of the API to let this machine through.",
    redirect_without_domain:
      "The API sent the call to an address without the domain, such as a login: check option 'baseUrl', for one its https:// and its host.",
    redirect_to_another_origin:
      "The API sent the call to another server, which does not get the credential: check option 'baseUrl', for one its https:// and its host.",
    unknown_content_encoding:
      'The answer has a content encoding that is not known here, and gzip and br were asked for: ask the makers of the API, or whoever runs the proxy in front of it.',
    unknown_charset:
      'The answer is not in the charset that it names, which is UTF-8 if it names none: ask the makers of the API for UTF-8.',
  },
  picture: {
    no_url: 'The answer has no URL of a picture.',
    invalid_url: 'What the answer has is no URL.',
    unsupported_scheme: 'The URL begins with neither http nor https.',
    unsupported_port: 'The URL names a port that no web site has.',
    too_large: 'The picture is too large.',
    not_a_picture: 'What came is no picture.',
  },
  setting: {
    svg_left_out: 'The picture is SVG, which is left out.',
    private_address: 'The URL leads into a private network.',
    not_asked: 'Nothing was asked.',
    pruned: 'Its outcome was removed from the store meanwhile.',
  },
} as const;

/** The listed reasons about one thing. */
export type ReasonAbout<A extends About> = { [K in A]: keyof (typeof REASONS)[K] }[A];

/** One of our own words for why something has no good end. */
export type Reason = ReasonAbout<About> | `http_${number}` | `proxy_${string}`;

/** A sign that an answer comes from another server or another path, or that none can come. */
export type Misdirection = ReasonAbout<'address'> | 'proxy_connection_refused';

/** Whether a text is one of our reasons, rather than what an API wrote. */
export function isReason(text: string): text is Reason {
  return find(text) !== undefined || /^(?:http_\d{3}|proxy_\w+)$/.test(text);
}

/** Whose fault a reason is. */
export function aboutOf(reason: string): About {
  const listed = find(reason)?.about;
  if (listed) return listed;
  if (reason.startsWith('proxy_')) return 'machine';
  return reason.startsWith('http_4') ? 'domain' : 'api';
}

/** Whether a reason in the first calls is a sign of a wrong address or setting. */
export function isMisdirection(reason: string): reason is Misdirection {
  return aboutOf(reason) === 'address';
}

/**
 * Reasons for which a call never reached the API, beside all that are about this machine or its
 * proxy.
 */
const UNSENT: ReadonlySet<string> = new Set<ReasonAbout<'address'>>([
  'connection_refused',
  'dns_failure',
  'tls_failure',
]);

/** Whether a call without an answer never reached the API, so that nothing is billed for it. */
export function isUnsent(reason: string): boolean {
  return UNSENT.has(reason) || reason.startsWith('proxy_') || aboutOf(reason) === 'machine';
}

/** What a reason means and what to do about it, in a sentence; undefined for what is not listed. */
export function sentenceOn(reason: ReasonAbout<About>): string;
export function sentenceOn(reason: string): string | undefined;
export function sentenceOn(reason: string): string | undefined {
  return find(reason)?.sentence;
}

const SHORT: Readonly<Partial<Record<string, string>>> = {
  empty: 'blank',
  ip_address: 'an IP address',
  contains_space: 'several words',
  several_domains: 'several addresses',
  unknown_tld: 'no known ending',
  free_mail: 'free mail',
  shared_host: 'a shared site',
  too_many_cells: 'too many cells',
} satisfies Partial<Record<ReasonAbout<'row'>, string>>;

/** What is in a cell without a domain, in a few words. */
export function shortOf(reason: string): string {
  return SHORT[reason] ?? 'no web address';
}

function find(reason: string): { readonly about: About; readonly sentence: string } | undefined {
  for (const [about, sentences] of Object.entries(REASONS)) {
    if (!Object.hasOwn(sentences, reason)) continue;
    const sentence = sentences[reason as keyof typeof sentences];
    return { about: about as About, sentence };
  }
  return undefined;
}
