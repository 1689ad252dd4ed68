import { createHash } from 'node:crypto';
import { parseHttpUrl, receivedUrl } from '../common/addresses.ts';
import { BrandfillError } from '../common/errors.ts';

/** The name and value of an extra query parameter or header. They are sent in the order given. */
export type NameValue = readonly [name: string, value: string];

/** The URL of lookups: `{base_url}/v1/brand?domain=…`, plus parameters that are sent with each. */
export interface Endpoint {
  /** Scheme, host and port, such as `https://api.example.com`. */
  readonly origin: string;
  /** The path and query that ask about one domain. */
  path(domain: string): string;
  /**
   * Whether the base URL already ends in `/v1`. Mostly that is a mistake, but a gateway may have
   * such a path.
   */
  readonly isDoubled: boolean;
  /**
   * A short hash of base URL and parameters. It tells the answers of different APIs apart in the
   * store. The credential is not part of it.
   */
  readonly id: string;
}

export interface EndpointOptions {
  readonly baseUrl: string;
  /** Query parameters that go with every call. */
  readonly params?: readonly NameValue[];
  /** A query parameter that carries the credential. It is not part of the endpoint's identity. */
  readonly secretParam?: NameValue | undefined;
}

const VERSION = '/v1';
const PATH = `${VERSION}/brand`;

/**
 * Builds the endpoint for a base URL. A path in the base URL is kept.
 *
 * @throws BrandfillError `INVALID_SETTING` when the base URL is invalid.
 */
export function createEndpoint(options: EndpointOptions): Endpoint {
  const url = new URL(parseBaseUrl(options.baseUrl));
  const params = options.params ?? [];
  const all = options.secretParam ? [...params, options.secretParam] : params;
  if (all.some(([name]) => name === 'domain')) {
    throw new BrandfillError(
      'INVALID_SETTING',
      `Cannot use 'domain' as a query parameter: each call sets it itself; leave it out.`,
    );
  }
  const basePath = url.pathname.replace(/\/+$/, '');
  const suffix = all.map(([name, value]) => `&${encode(name)}=${encode(value)}`).join('');
  return {
    origin: url.origin,
    path: (domain) => `${basePath}${PATH}?domain=${encode(domain)}${suffix}`,
    isDoubled: basePath.endsWith(VERSION),
    id: identify(url.origin + basePath, params),
  };
}

/**
 * Checks a base URL and returns it unchanged.
 *
 * @throws BrandfillError `INVALID_SETTING` that says what was expected
 */
export function parseBaseUrl(text: string): string {
  const refuse = (expected: string): never => {
    throw new BrandfillError('INVALID_SETTING', expected);
  };
  // Whatever is behind the `@`: a password with a `/` puts it into the path.
  if (text.includes('@')) {
    return refuse(
      'it holds a user name or password; put the credential into BRANDFILL_API_KEY and choose --auth basic',
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
    return refuse('it ends in a query or fragment; give query parameters with --param NAME=VALUE');
  }
  if (url.pathname.replace(/\/+$/, '').endsWith(PATH)) {
    return refuse(`leave out the '${PATH}' at its end, every call adds it`);
  }
  return text;
}

function identify(base: string, params: readonly NameValue[]): string {
  const sorted = params.map((pair) => pair.map(encode).join('=')).sort();
  return createHash('sha256')
    .update([base, ...sorted].join('\n'))
    .digest('base64url')
    .slice(0, 8);
}

function encode(text: string): string {
  return encodeURIComponent(text);
}
