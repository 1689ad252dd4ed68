import { createHash } from 'node:crypto';
import { parseHttpUrl, receivedUrl } from '../common/addresses.ts';
import { refusal } from '../common/errors.ts';
import { idOfParts } from '../common/hashes.ts';
import type { ApiProfile, BatchProfile } from './api-profile.ts';

/** The name and value of an extra query parameter or header. They are sent in the order given. */
export type NameValue = readonly [name: string, value: string];

/**
 * The URL of lookups: `{base_url}/v1/brand?domain=…` unless a profile says otherwise, plus
 * parameters that are sent with each.
 */
export interface Endpoint {
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly origin: string;
  /** The path and query that ask about one domain. */
  path(domain: string): string;
  /**
   * A short hash of base URL and parameters, and of path and record where a profile names them. It
   * tells the answers of different APIs apart in the store. The credential is not part of it.
   */
  readonly id: string;
  /**
   * The name of its queue: host, path, parameters and what a profile makes of answers, as far as
   * they are not the standard's. So no worker judges answers for a run that would judge them
   * otherwise.
   */
  readonly queueName: string;
  /** How the API differs from the standard. */
  readonly profile: ApiProfile | undefined;
  /** The path and query that ask about several domains, where the API has batches. */
  batchPath(batch: BatchProfile, domains: readonly string[]): string;
}

export interface EndpointOptions {
  readonly baseUrl: string;
  /** Query parameters that go with every call. */
  readonly params?: readonly NameValue[];
  /** A query parameter that carries the credential. It is not part of the endpoint's identity. */
  readonly secretParam?: NameValue | undefined;
  /** How the API differs from the standard. @default it does not */
  readonly profile?: ApiProfile | undefined;
}

const PATH = '/v1/brand';

/**
 * Builds the endpoint for a base URL. A path in the base URL is kept.
 *
 * @throws BrandfillError `INVALID_SETTING` when the base URL is invalid.
 */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const { profile } = options;
  const url = new URL(parseBaseUrl(options.baseUrl));
  const given = options.params ?? [];
  const params = [...standingParams(profile, given), ...given];
  const all = options.secretParam ? [...params, options.secretParam] : params;
  const basePath = url.pathname.replace(/(?<!\/)\/+$/, '');
  const template = templateOf(profile);
  const taken = all.find(([name]) => template.names.has(name));
  if (taken) {
    throw refusal(
      `Cannot use '${taken[0]}' as a query parameter: each call sets it itself; leave it out.`,
    );
  }
  const suffix = all
    .map(([name, value], at) => `${at === 0 ? template.separator : '&'}${pairOf(name, value)}`)
    .join('');
  const isStandard = template.text === STANDARD;
  const { body } = profile ?? {};
  const differs = [isStandard ? [] : template.text, profile?.data ?? [], body ?? []].flat();
  const id = identify([url.origin + basePath, ...differs], params);
  const port = url.protocol === 'http:' && url.port === '' ? ':80' : '';
  const parts = (basePath + template.text).split(DOMAIN);
  return {
    origin: url.origin,
    path: (domain) => parts.join(encodeURIComponent(domain)) + suffix,
    id,
    queueName: queueNameOf(url.host + port + basePath, [
      isStandard ? '' : template.text,
      ...(body === undefined ? [] : [body]),
      ...params.flat(),
      profile?.meaningId?.slice(0, 8) ?? '',
    ]),
    profile,
    batchPath: (batch, domains) => {
      const asked = basePath + batch.pathOf(domains);
      return asked + (asked.includes('?') ? suffix.replace(/^\?/, '&') : suffix.replace(/^&/, '?'));
    },
  };
}

/**
 * BullMQ allows no colon in it. A host with a plain path can be told from its name again; any other
 * name ends in a hash of what it was made of, so that no two APIs have one queue. Its `0` begins no
 * port or path.
 */
function queueNameOf(where: string, more: readonly string[]): string {
  const name = [where, ...more]
    .join('/')
    .replaceAll(DOMAIN, '')
    .replaceAll(/[^\w.]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  const isPlain = name.length <= 100 && more.join('') === '' && PLAIN.test(where);
  return isPlain ? name : `${name.slice(0, 80)}-0${idOfParts([where, ...more]).slice(0, 8)}`;
}

const PLAIN = /^(?:[a-z\d.-]+\.[a-z\d]+|[a-z\d]+)(?::\d+)?(?:\/[a-z_]\w*)*$/i;

/** Stands for the domain in the path or a parameter of a profile. */
export const DOMAIN = '{domain}';
/** Stands for all domains of a batch. */
export const DOMAINS = '{domains}';
const STANDARD = `${PATH}?domain=${DOMAIN}`;

interface Template {
  /** Path and query with `{domain}`. */
  readonly text: string;
  /** Between it and further parameters. */
  readonly separator: '?' | '&';
  /** Its own parameters. */
  readonly names: ReadonlySet<string>;
}

/** Parameters of a profile that are the same in every call, and not given otherwise. */
function standingParams(profile: ApiProfile | undefined, given: readonly NameValue[]) {
  const isGiven = new Set(given.map(([name]) => name));
  const own = profile?.params ?? [];
  return own.filter(([name, value]) => !value.includes(DOMAIN) && !isGiven.has(name));
}

function templateOf(profile: ApiProfile | undefined): Template {
  const path = profile?.path ?? PATH;
  const own = (profile?.params ?? [])
    .filter(([, value]) => value.includes(DOMAIN))
    .map(
      ([name, value]) =>
        `${encodeURIComponent(name)}=${value.split(DOMAIN).map(encodeURIComponent).join(DOMAIN)}`,
    )
    .join('&');
  const joined = own === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${own}`;
  const isNamed = joined.includes(DOMAIN) || profile?.body?.includes(DOMAIN);
  const text = isNamed ? joined : `${joined}?domain=${DOMAIN}`;
  const query = text.split('?')[1];
  return {
    text,
    separator: query === undefined ? '?' : '&',
    names: new Set(new URLSearchParams(query ?? '').keys()),
  };
}

/**
 * Checks a base URL and returns it unchanged.
 *
 * @throws BrandfillError `INVALID_SETTING` that says what was expected
 */
export function parseBaseUrl(text: string): string {
  const refuse = (expected: string): never => {
    throw refusal(expected);
  };
  // Whatever is behind the `@`: a password with a `/` puts it into the path.
  if (text.includes('@')) {
    return refuse(
      "it holds a user name or password; put the credential into BRANDFILL_API_KEY and choose option 'auth' basic",
    );
  }
  const url = parseHttpUrl(text);
  if (!url) {
    const [, scheme] = /^([a-z]{2,10}):\/\//.exec(text) ?? [];
    return refuse(
      scheme && !scheme.startsWith('http')
        ? `expected http or https, received '${scheme}://'`
        : `expected a URL such as https://api.example.com, ${receivedUrl(text)}`,
    );
  }
  if (url.search || url.hash) {
    return refuse(
      "it ends in a query or fragment; give query parameters with option 'params' NAME=VALUE",
    );
  }
  if (url.pathname.replace(/(?<!\/)\/+$/, '').endsWith(PATH)) {
    return refuse(`leave out the '${PATH}' at its end, every call adds it`);
  }
  return text;
}

function pairOf(name: string, value: string): string {
  return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
}

function identify(parts: readonly string[], params: readonly NameValue[]): string {
  const sorted = params.map(([name, value]) => pairOf(name, value)).sort();
  return createHash('sha256')
    .update([...parts, ...sorted].join('\n'))
    .digest('base64url')
    .slice(0, 8);
}
