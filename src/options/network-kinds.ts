import { isIP } from 'node:net';
import { type AuthScheme, isReservedHeader, parseAuth } from '../brand/credential.ts';
import { type NameValue, parseBaseUrl } from '../brand/endpoint.ts';
import { type AllowedHost, parseAllowedHost, parseRedisUrl } from '../common/addresses.ts';
import { describeKind } from '../common/text.ts';
import type { Kind } from './declaration.ts';
import { isRecord, orList, PAIRS, readText, refusal, STRING, TEXT } from './kinds.ts';

export const BASE_URL: Kind<string, string> = {
  placeholder: 'URL',
  schema: STRING,
  parse: (value) => parseBaseUrl(readText(value)),
  show: withoutLogin,
};

/** Checked before anything is read or called, and left as it is. */
export const REDIS_URL: Kind<string, string> = {
  ...BASE_URL,
  parse: (value) => {
    const url = readText(value);
    parseRedisUrl(url);
    return url;
  },
};

/**
 * Removes the login. A password in it may hold anything, even characters that end a login
 * elsewhere.
 */
function withoutLogin(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1').replace(/[?#].*$/s, '');
}

export const AUTH: Kind<AuthScheme, string> = {
  placeholder: 'SPEC',
  schema: STRING,
  parse: (value) => parseAuth(readText(value)),
  show: (scheme) => ('name' in scheme ? `${scheme.kind}:${scheme.name}` : scheme.kind),
};

/** `NAME=VALUE`, or values by name. Any of the values may be a secret. */
export const PARAMS: Kind<readonly NameValue[], Readonly<Record<string, string>>> = {
  placeholder: 'NAME=VALUE',
  schema: PAIRS,
  isRepeatable: true,
  isMap: true,
  parse: readPairs,
  show: (pairs) => `${pairs.map(([name]) => name).join(', ')} (values not shown)`,
};

/** The same for headers that HTTP can carry. */
export const HEADERS: typeof PARAMS = {
  ...PARAMS,
  parse: (value) => {
    const pairs = readPairs(value);
    for (const pair of pairs) checkHeader(pair);
    return pairs;
  },
};

function readPairs(value: unknown): readonly NameValue[] {
  if (isRecord(value)) return Object.entries(value).map(toNameValue);
  const pairs = typeof value === 'string' ? [value] : value;
  if (!Array.isArray(pairs)) {
    throw refusal(
      `expected NAME=VALUE, or an object of texts by name, received ${describeKind(value)}`,
    );
  }
  return pairs.map((pair: unknown) => {
    const [, name, rest] = /^([^=]+)=(.*)$/s.exec(typeof pair === 'string' ? pair : '') ?? [];
    // The value may be a credential in the wrong place, so it is not repeated.
    if (name === undefined || rest === undefined) throw refusal('expected NAME=VALUE');
    return [name.trim(), rest];
  });
}

/**
 * A value that is missing, or is one of many, would be sent as `undefined` or `[object Object]`.
 */
function toNameValue([name, value]: [string, unknown]): NameValue {
  if (typeof value === 'string') return [name, value];
  if (typeof value === 'number' || typeof value === 'boolean') return [name, String(value)];
  throw refusal(`expected a text as the value of '${name}', received ${describeKind(value)}`);
}

function checkHeader([name, content]: NameValue): void {
  if (/^(proxy-)?authorization$|^cookie$/i.test(name)) {
    throw refusal(
      `'${name}' is a credential; choose --auth and put it into BRANDFILL_API_KEY or --api-key-file`,
    );
  }
  // Not repeated either: it may be a whole `Authorization: …`.
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
    throw refusal('expected NAME=VALUE, NAME being the name of an HTTP header');
  }
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(content)) {
    throw refusal(`the value of '${name}' has characters that no header can carry`);
  }
  if (isReservedHeader(name)) {
    throw refusal(`'${name}' is set by Brandfill itself; leave it out`);
  }
}

/** `HOST` or `HOST:PORT`, each. */
export const HOSTS: Kind<readonly AllowedHost[], readonly string[]> = {
  placeholder: 'HOST',
  schema: orList(TEXT),
  isRepeatable: true,
  parse: (value) => [value].flat().map((host) => parseAllowedHost(readText(host))),
  show: (hosts) =>
    hosts
      .map(({ hostname, port }) => (port === undefined ? hostname : `${hostname}:${port}`))
      .join(', '),
};

/** The address that an HTTP server listens on. */
export interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** Can be reached from this machine only. */
const HERE = '127.0.0.1';

const ADDRESS = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+)):)?(?<port>\d{1,5})$/i;

/**
 * `8080`, `0.0.0.0:8080` or `[::]:8080`. Without a host it is this machine alone. `:8080` is
 * refused: to some programs it means all interfaces, to others this machine.
 */
export const LISTEN: Kind<ListenAddress, string | number> = {
  placeholder: '[HOST:]PORT',
  schema: TEXT,
  parse: (value) => {
    const given = typeof value === 'number' ? String(value) : value;
    const match = typeof given === 'string' ? ADDRESS.exec(given.trim()) : null;
    const port = Number(match?.groups?.['port']);
    if (!match || port > 65_535) {
      throw refusal(
        `expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080, received '${String(value)}'`,
      );
    }
    const { v6, name } = match.groups ?? {};
    return { host: v6 ?? name ?? HERE, port };
  },
  show: () => 'given',
};

/** All addresses that begin with the same bits. */
export interface AddressRange {
  readonly address: string;
  readonly bits: number;
}

/** Addresses such as `10.0.0.2`, or ranges such as `10.0.0.0/8` or `fd00::/8`. */
export const ADDRESS_RANGES: Kind<readonly AddressRange[], readonly string[]> = {
  placeholder: 'ADDRESS',
  schema: orList(TEXT),
  isRepeatable: true,
  parse: (value) => [value].flat().map((range) => parseAddressRange(readText(range))),
  show: (ranges) => ranges.map(({ address, bits }) => `${address}/${bits}`).join(', '),
};

function parseAddressRange(given: string): AddressRange {
  const [, address = '', digits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(given.trim()) ?? [];
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const bits = Number(digits ?? most);
  if (most > 0 && bits <= most) return { address, bits };
  throw refusal(
    `expected an address such as 127.0.0.1 or a range such as 10.0.0.0/8, received '${given}'`,
  );
}
