import { isIP } from 'node:net';
import { BrandfillError } from '../../common/errors.ts';

/** The address that an HTTP server listens on. */
export interface ListenAddress {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
}

/** Can be reached from this machine only. */
const HERE = '127.0.0.1';

/**
 * Reads `8080`, `0.0.0.0:8080` or `[::]:8080`. Without a host it is this machine alone.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else. `:8080` is refused: to some programs
 * it means all interfaces, to others this machine.
 */
export function parseListenAddress(value: unknown): ListenAddress {
  const text = typeof value === 'number' ? String(value) : value;
  const match = typeof text === 'string' ? ADDRESS.exec(text.trim()) : null;
  const port = Number(match?.groups?.['port']);
  if (!match || port > 65_535) throw refusal(value);
  const { v6, name } = match.groups ?? {};
  return { host: v6 ?? name ?? HERE, port };
}

const ADDRESS = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[\w.-]+)):)?(?<port>\d{1,5})$/i;

/** All addresses that begin with the same bits. */
export interface AddressRange {
  readonly address: string;
  readonly bits: number;
}

/**
 * Reads an address such as `10.0.0.2`, or a range such as `10.0.0.0/8` or `fd00::/8`.
 *
 * @throws BrandfillError `INVALID_SETTING` for anything else
 */
export function parseAddressRange(text: string): AddressRange {
  const [, address = '', given] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? [];
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const bits = Number(given ?? most);
  if (most > 0 && bits <= most) return { address, bits };
  throw new BrandfillError(
    'INVALID_SETTING',
    `expected an address such as 127.0.0.1 or a range such as 10.0.0.0/8, received '${text}'`,
  );
}

function refusal(value: unknown): BrandfillError {
  return new BrandfillError(
    'INVALID_SETTING',
    `expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080, received '${String(value)}'`,
  );
}
