import { sentenceOn } from '../brand/network-error.ts';
import type { RowStatus } from '../collector/joined-row.ts';

/** The facts of a reason that advice depends on. */
export interface AskedReason {
  readonly status: RowStatus;
  readonly reason: string;
  readonly httpStatus: number | undefined;
}

/** Explains a reason, and what to do about it, in a sentence or two. */
export function adviseOn({ status, reason, httpStatus }: AskedReason): string {
  if (status === 'stale') {
    return `${adviseOn({ status: 'failed', reason, httpStatus })} These rows keep an older answer.`;
  }
  const own = Object.hasOwn(OF_REASON, reason) ? OF_REASON[reason] : undefined;
  if (own !== undefined) return own;
  const ofNetwork = status === 'failed' ? sentenceOn(reason) : undefined;
  if (ofNetwork !== undefined) return `${ofNetwork} ${RETRIED}`;
  if (status === 'skipped') return AGAIN;
  if (status === 'failed') return adviseOnFailure(reason, httpStatus);
  return OF_STATUS[status];
}

function adviseOnFailure(reason: string, httpStatus: number | undefined): string {
  if (reason.startsWith('proxy_'))
    return `No call got through the proxy. Check it, and HTTP_PROXY or HTTPS_PROXY. ${RETRIED}`;
  return httpStatus !== undefined && httpStatus >= 500
    ? `The API had a fault of its own each time. ${RETRIED}`
    : `No usable answer came. ${RETRIED}`;
}

const RETRIED = 'The next run tries again.';
const AGAIN = 'Not asked, because the run stopped first. Run the same command again to go on.';

const OF_STATUS: Readonly<Record<Exclude<RowStatus, 'failed' | 'skipped' | 'stale'>, string>> = {
  found: '',
  not_found: 'The API does not know these domains. They are asked again after --fresh-not-found.',
  rejected:
    'The API refused these domains, with these words. They are asked again after --fresh-rejected.',
  pending:
    'The API has accepted these lookups and had no answer ready in time. The next run asks again at once; --max-pending waits longer.',
  invalid: 'There is no domain in the cell. Correct it in the list, or leave it.',
};

const OF_REASON: Readonly<Record<string, string>> = {
  // Of cells.
  empty: 'The cell is blank, or says that there is nothing. Nothing was asked.',
  ip_address: 'The cell holds an IP address, not a name. Put the domain of the company there.',
  single_label:
    'The cell holds a word without a dot, such as a company name. Put its domain there.',
  public_suffix: "The cell holds a registry's own name, such as co.uk. Put the whole domain there.",
  label_too_long: 'A part of the name is longer than a domain can have. Correct the cell.',
  domain_too_long: 'The name is longer than a domain can be. Correct the cell.',
  contains_space: 'The cell holds several words, such as a company name. Put its domain there.',
  several_domains: 'The cell holds more than one domain. Leave the one to look up.',
  unknown_tld: 'The name ends in what is no top-level domain on the Internet. Correct the cell.',
  free_mail:
    'The cell holds an address at a provider of free mail, which says nothing about a company. Put its domain there.',
  too_many_cells:
    'The row has more cells than the header, so the domain may be in another column. Quote the text that holds a delimiter.',
  shared_host:
    'The cell leads to a page on a host that many share, such as a social network, which says nothing about a company. Put its domain there, or give --keep-shared-hosts.',
  malformed: 'The name has characters that no domain can have. Correct the cell.',
  // Of calls.
  timeout: `No answer came within --timeout. ${RETRIED} If there are many, give it longer or fewer calls at once (--concurrency).`,
  connection_refused: `Nobody listened at the address of the API. ${RETRIED}`,
  connection_reset: `The API closed the connection in the midst of the answer. ${RETRIED}`,
  lost_domain:
    'The API sent the call to an address without the domain, such as a login. Check --base-url.',
  invalid_response: `The API answered 200 with something that is no JSON object in UTF-8. ${RETRIED}`,
  response_too_large:
    'The answer was larger than 10 MiB, or its headers than 16 KiB, and was not read. Ask the makers of the API.',
  too_many_redirects: 'The API sent the call from place to place. Ask its makers.',
  redirect_to_another_origin:
    'The API sent the call to another server, which does not get the credential. Check --base-url.',
  throttled:
    'The API throttled these for ten minutes on end (429 and the like). Give a lower --rate.',
  // Of workers on a queue.
  worker_has_other_api:
    'The worker that took these asks another API. Start workers with the same --base-url and --param as the run, then run the same command again.',
  worker_lost:
    'Every worker that took one of these was lost in the midst of it. Look at their logs; the next run tries again.',
  // Of runs that stopped.
  interrupted: AGAIN,
  max_calls: 'Not asked: all calls of --max-calls were made. The next run asks these first.',
  max_calls_per:
    'Not asked: all calls of --max-calls-per were made. The next run asks these first, when there are calls again.',
  max_failed:
    'Not asked: too many lookups failed before. Look at the other reasons, then run the same command again.',
  quota:
    'Not asked: the quota of the API was used up. Run the same command again when there is more.',
  unauthorized:
    'Not asked: the API refused the credential. Check --auth and BRANDFILL_API_KEY, then run the same command again.',
  forbidden:
    'Not asked: the API answered 403 again and again. Check what the credential is allowed, then run the same command again.',
  refused:
    'Not asked: the API refused five different domains in the same way. Check the credential, the plan, --param and --base-url, then run the same command again.',
  outage: 'Not asked: the API was out for too long. Run the same command again when it is back.',
  misdirected: 'Not asked: the first calls went to a wrong address. Check --base-url.',
  pruned:
    'Their outcomes were removed from the store while the run went on. Run the same command again, and prune only what is too old for runs: older than --fresh and --fresh-not-found.',
};
