import { aboutOf, sentenceOn } from '../../brand/network-error.ts';
import type { Proxy } from '../../brand/proxy.ts';
import { formatDuration } from '../../job/values/duration.ts';

export interface OutOptions {
  /** The name of the API. */
  readonly api: string;
  /** The proxy on the way there, if there is one. */
  readonly proxy: Proxy | undefined;
  /** Why the last failed call failed. */
  readonly trouble: string | undefined;
  /** How long the API said to wait, in milliseconds. @default it said nothing */
  readonly toldMs?: number | undefined;
}

/**
 * Says that calls wait because they get no answer, and what to check: the API may not be to blame.
 */
export function describeOut({ api, proxy, trouble, toldMs = 0 }: OutOptions): string {
  const why = trouble === undefined ? '' : ` (${trouble})`;
  if (toldMs > 0) {
    return `The API at ${api} is out${why} and says to come back in ${formatDuration(toldMs)}: no call is made before.`;
  }
  if (proxy && trouble?.startsWith('proxy_')) {
    return `No call gets through the proxy at ${proxy.url.host}${why}: calls wait until one does, up to --max-outage. If none ever did, check ${proxy.variable}.`;
  }
  if (trouble !== undefined && aboutOf(trouble) === 'machine') {
    const want = sentenceOn(trouble) ?? '';
    return `No call to the API at ${api} can be made from here${why}: calls wait until one can, up to --max-outage. ${want}`;
  }
  return `The API at ${api} is out${why}: calls wait until it is back, up to --max-outage. If it never answered, check --base-url${mayWantTls(api, trouble) ? ', which may have to begin with https://' : ''}.${trouble === 'http_503' ? LIMIT_BY_503 : ''}`;
}

/** A gateway may refuse calls that come too fast with 503, while others are still answered. */
const LIMIT_BY_503 =
  ' If it limits calls with 503, as nginx does, that shows when it happens again; --rate spares the wait.';

/** A server that speaks TLS breaks off connections without it. */
function mayWantTls(api: string, trouble: string | undefined): boolean {
  return trouble === 'connection_reset' && api.startsWith('http://');
}
