import type { AuthScheme } from '../brand/credential.ts';
import type { NameValue } from '../brand/endpoint.ts';
import type { Field, FillSetting } from '../collector/fields/fields.ts';
import type { AllowedHost } from '../common/hosts.ts';
import type { CallsPer } from '../guard/shared-budget.ts';
import { flagOf, type SettingDefinition } from '../job/read-settings.ts';
import { SETTINGS, type Settings } from '../job/settings.ts';
import { formatDuration, formatSize } from '../job/values/duration.ts';
import type { AddressRange } from '../job/values/listen-address.ts';
import { formatPrice } from '../job/values/quantities.ts';
import type { Rate } from '../pace/rate.ts';
import type { Encoding } from '../rows/encoding/encodings.ts';
import { formatRate } from '../watch/describe/format.ts';
import { shortenTo } from './text.ts';

/** A setting of a run, for people. */
export interface ShownSetting {
  /** As on the command line. */
  readonly name: string;
  readonly value: string;
  readonly isDefault: boolean;
}

const VALUE_LENGTH = 500;

/**
 * The settings of a run without secrets: parameters and headers by name only, URLs without a login.
 */
export function showSettings(settings: Settings): readonly ShownSetting[] {
  return Object.entries<SettingDefinition<unknown>>(SETTINGS).flatMap(([key, definition]) => {
    const given: unknown = settings[key as keyof Settings];
    if (given === undefined) return [];
    const show = (value: unknown): string => showValue(key, value, definition);
    const value = show(given);
    const { default: standard } = definition;
    const isDefault = standard !== undefined && show(definition.parse(standard)) === value;
    return [{ name: flagOf(key), value: shortenTo(value, VALUE_LENGTH), isDefault }];
  });
}

function showValue(key: string, value: unknown, definition: SettingDefinition<unknown>): string {
  const special = Object.hasOwn(SPECIAL, key) ? SPECIAL[key] : undefined;
  if (special) return special(value);
  switch (definition.value) {
    case undefined:
      return value === true ? 'yes' : 'no';
    case 'DURATION':
      return value === 0 ? '0' : formatDuration(value as number);
    case 'SIZE':
      return formatSize(value as number);
    case 'SHARE':
      return `${(100 * (value as number)).toLocaleString('en-US')} %`;
    case 'URL':
      return withoutLogin(value as string);
    case 'NAME=VALUE':
      return `${(value as readonly NameValue[]).map(([name]) => name).join(', ')} (values not shown)`;
    default:
      return showPlain(value);
  }
}

/** Shows a value only if it is known to be harmless. */
function showPlain(value: unknown): string {
  if (typeof value === 'number') return value.toLocaleString('en-US');
  if (typeof value === 'string') return value;
  const isList = Array.isArray(value) && value.every((item) => typeof item === 'string');
  return isList ? value.join(', ') : 'given';
}

const SPECIAL: Readonly<Record<string, (value: unknown) => string>> = {
  auth: (value) => {
    const scheme = value as AuthScheme;
    return 'name' in scheme ? `${scheme.kind}:${scheme.name}` : scheme.kind;
  },
  encoding: (value) => (value as Encoding).label,
  rate: (value) => {
    if (value === 'auto') return value;
    const { count, perMs } = value as Rate;
    return formatRate((count / perMs) * 1_000);
  },
  maxCallsPer: (value) => {
    const { count, unit } = value as CallsPer;
    return `${count.toLocaleString('en-US')}/${unit}`;
  },
  price: (value) => formatPrice(value as number),
  logoField: (value) => (value as Field).expression ?? '',
  logoAllow: showHosts,
  allowHost: showHosts,
  trustedProxy: (value) =>
    (value as readonly AddressRange[]).map(({ address, bits }) => `${address}/${bits}`).join(', '),
  fields: (value) => showFields(value as readonly Field[]),
  fill: (value) =>
    (value as readonly FillSetting[])
      .map(({ column, field }) => `${column}=${field.expression ?? ''}`)
      .join(', '),
};

function showHosts(value: unknown): string {
  return (value as readonly AllowedHost[])
    .map(({ hostname, port }) => (port === undefined ? hostname : `${hostname}:${port}`))
    .join(', ');
}

function showFields(fields: readonly Field[]): string {
  return fields.map(({ name, expression = '' }) => `${name}=${expression}`).join(', ');
}

/**
 * Removes the login. A password in it may hold anything, even characters that end a login
 * elsewhere.
 */
function withoutLogin(url: string): string {
  return url.replace(/^([a-z][a-z0-9+.-]*:\/\/).*@/is, '$1').replace(/[?#].*$/s, '');
}
