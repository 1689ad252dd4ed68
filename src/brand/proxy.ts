import { loginOf, parseHttpUrl } from '../common/addresses.ts';
import { refusal } from '../common/errors.ts';

/** A proxy that the environment names. */
export interface Proxy {
  /** The variable that names it, such as `HTTPS_PROXY`. */
  readonly variable: string;
  /** The URL, with user and password if it has them. */
  readonly url: URL;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Finds the proxy through which calls to an origin go: `HTTPS_PROXY` for https, else `HTTP_PROXY`,
 * unless `NO_PROXY` names the host. Variables in lower case take precedence, as in undici's
 * `EnvHttpProxyAgent`.
 *
 * @throws BrandfillError `INVALID_SETTING` when the URL of the proxy is invalid
 */
export function findProxy(origin: string, env: Environment = process.env): Proxy | undefined {
  const target = new URL(origin);
  const names = target.protocol === 'https:' ? ['HTTPS_PROXY', 'HTTP_PROXY'] : ['HTTP_PROXY'];
  const variable = names.map((name) => nameIn(env, name)).find((name) => env[name]);
  if (variable === undefined || isExempt(target, env)) return undefined;
  const named = env[variable] ?? '';
  const url = parse(named);
  if (!url) {
    const why = /^\s*socks/i.test(named)
      ? 'it is for SOCKS, and calls go through HTTP proxies only; '
      : '';
    throw refusal(
      `Cannot use the proxy that ${variable} names: ${why}expected a URL such as http://proxy.example:3128.`,
    );
  }
  return { variable, url };
}

/**
 * Says in a sentence that calls go through a proxy and which variable names it. User and password
 * are left out.
 */
export function describeProxy({ variable, url }: Proxy): string {
  return `Calls go through the proxy at ${url.host}, which ${variable} names.`;
}

/**
 * Undici supports SOCKS too, but only as an experiment that prints a warning and speaks TLS to the
 * proxy, which no SOCKS proxy expects.
 */
function parse(given: string): URL | undefined {
  try {
    const url = parseHttpUrl(given);
    if (url) decodeURIComponent(url.username + url.password); // throws as undici will
    return url;
  } catch {
    return undefined;
  }
}

/** What an environment holds as users and passwords of proxies, whichever of them is used. */
export function proxyLogins(env: Environment): readonly string[] {
  return ['HTTP_PROXY', 'HTTPS_PROXY']
    .map((name) => loginOf(env[nameIn(env, name)] ?? ''))
    .filter((login) => login !== undefined);
}

function nameIn(env: Environment, name: string): string {
  const inLowerCase = name.toLowerCase();
  return env[inLowerCase] === undefined ? name : inLowerCase;
}

/**
 * Whether `NO_PROXY` is `*` or names the host or a parent domain of it, each with or without the
 * port.
 */
function isExempt({ hostname, port, protocol }: URL, env: Environment): boolean {
  const list = env[nameIn(env, 'NO_PROXY')] ?? '';
  if (list === '*') return true;
  const itsPort = port === '' ? { 'http:': '80', 'https:': '443' }[protocol] : port;
  return list.split(/[,\s]+/).some((entry) => {
    const [, before = entry, onlyPort = itsPort] = /^(.+):(\d+)$/.exec(entry) ?? [];
    const name = before.replace(/^\*?\./, '').toLowerCase();
    return name !== '' && onlyPort === itsPort && `.${hostname}`.endsWith(`.${name}`);
  });
}

/** A proxy refused a tunnel or could not be reached. */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  /** The status that the proxy answered, if it did. */
  readonly httpStatus: number | undefined;

  constructor(httpStatus: number | undefined, options?: ErrorOptions) {
    super('the proxy made no tunnel', options);
    this.httpStatus = httpStatus;
  }
}
