import { describeKind } from '../common/printable.ts';
import type { LimitHeaders, LimitKind } from './limiter.ts';
import type { SandboxOptions } from './options.ts';
import { findRuleProblems } from './script-rule.ts';

/**
 * Check the options that a person may get wrong.
 *
 * @throws SandboxError that names the option, what it must be, and what it is
 */
export function checkOptions(options: SandboxOptions): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    const message = `Cannot start the sandbox: expected its options as an object, received ${describeKind(options)}.`;
    throw new SandboxError('sandbox_invalid_option', message);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(NAMES, name)) throw unknownOption(name);
  }
  const { auth, limitKind = 'token-bucket', limitHeaders = 'none', respond } = options;
  check(
    auth === undefined || isAuth(auth),
    'auth',
    "an object such as { scheme: 'bearer', key: 'secret' }",
    describeKind(auth), // not the value: it may be the key
  );
  const { host = '' } = options;
  check(typeof host === 'string', 'host', 'a text', host);
  check(
    LIMIT_KINDS.includes(limitKind),
    'limitKind',
    `one of ${LIMIT_KINDS.join(', ')}`,
    limitKind,
  );
  check(
    LIMIT_HEADERS.includes(limitHeaders),
    'limitHeaders',
    `one of ${LIMIT_HEADERS.join(', ')}`,
    limitHeaders,
  );
  const { limitStatus = 429 } = options;
  check([429, 503].includes(limitStatus), 'limitStatus', '429 or 503', limitStatus);
  check(respond === undefined || typeof respond === 'function', 'respond', 'a function', respond);
  checkScript(options.script);
  const { errors = 0, broken = 0, notFound = 0 } = options;
  for (const [name, share] of Object.entries({ errors, broken, notFound })) {
    check(share >= 0 && share <= 1, name, 'a share from 0 to 1', share);
  }
  check(errors + broken <= 1, 'errors', 'at most 1 together with broken', errors + broken);
  const { limit, burst, quota, port } = options;
  if (limit !== undefined) {
    check(
      typeof limit === 'object' && limit !== null,
      'limit',
      'an object such as { count: 5, perMs: 1000 }',
      limit,
    );
    check(
      Number.isInteger(limit.count) && limit.count >= 1,
      'limit',
      'a whole number of calls, 1 or more',
      limit.count,
    );
    check(
      limit.perMs > 0 && limit.perMs < Infinity,
      'limit',
      'per a time longer than 0 ms',
      limit.perMs,
    );
  }
  if (burst !== undefined)
    check(Number.isInteger(burst) && burst >= 1, 'burst', 'a whole number, 1 or more', burst);
  if (quota !== undefined)
    check(Number.isInteger(quota) && quota >= 0, 'quota', 'a whole number, 0 or more', quota);
  if (port !== undefined) {
    check(
      Number.isInteger(port) && port >= 0 && port <= 65_535,
      'port',
      'a whole number from 0 to 65535',
      port,
    );
  }
  checkLatency(options.latencyMs);
}

function isAuth(auth: unknown): boolean {
  if (typeof auth !== 'object' || auth === null) return false;
  const { scheme, key } = auth as { readonly scheme?: unknown; readonly key?: unknown };
  return typeof key === 'string' && isScheme(scheme);
}

function isScheme(scheme: unknown): boolean {
  if (typeof scheme !== 'object' || scheme === null)
    return scheme === 'bearer' || scheme === 'basic';
  const { header, query } = scheme as { readonly header?: unknown; readonly query?: unknown };
  return typeof (header ?? query) === 'string';
}

const NAMES: Readonly<Record<keyof SandboxOptions, true>> = {
  host: true,
  port: true,
  latencyMs: true,
  limit: true,
  limitKind: true,
  burst: true,
  limitHeaders: true,
  limitStatus: true,
  errors: true,
  notFound: true,
  broken: true,
  auth: true,
  quota: true,
  seed: true,
  logos: true,
  gzip: true,
  countPerDomain: true,
  script: true,
  respond: true,
  api: true,
};
const LIMIT_KINDS: readonly LimitKind[] = [
  'token-bucket',
  'fixed-window',
  'sliding-window',
  'concurrent',
];
const LIMIT_HEADERS: readonly LimitHeaders[] = ['none', 'retry-after', 'ratelimit', 'x-ratelimit'];

/**
 * An unknown option is refused: a rehearsal without the intended latency or faults would show
 * nothing.
 */
function unknownOption(name: string): SandboxError {
  const all = Object.keys(NAMES).join(', ');
  const message = `Cannot start the sandbox: it has no option '${name}'; there are: ${all}`;
  return new SandboxError('sandbox_invalid_option', message);
}

function checkScript(script: SandboxOptions['script'] = []): void {
  check(Array.isArray(script), 'script', 'a list of rules such as [{ status: 503 }]', script);
  for (const [at, rule] of script.entries()) {
    const [first] = findRuleProblems(rule);
    if (first === undefined) continue;
    const name = `script[${at}]${first.key === undefined ? '' : `.${first.key}`}`;
    const message = `Cannot start the sandbox as '${name}' ${first.problem}`;
    throw new SandboxError('sandbox_invalid_option', message);
  }
}

/** The longest wait of a timer, about 24 days. */
const LONGEST_MS = 2 ** 31 - 1;

function checkLatency(latencyMs: SandboxOptions['latencyMs'] = 0): void {
  check(
    typeof latencyMs === 'number' || (typeof latencyMs === 'object' && latencyMs !== null),
    'latencyMs',
    'a number, or a range such as { fromMs: 20, toMs: 7000 }',
    latencyMs,
  );
  const { fromMs, toMs } =
    typeof latencyMs === 'number' ? { fromMs: latencyMs, toMs: latencyMs } : latencyMs;
  check(
    fromMs >= 0 && toMs <= LONGEST_MS,
    'latencyMs',
    'from 0 to 24 days',
    `${fromMs} to ${toMs}`,
  );
  check(fromMs <= toMs, 'latencyMs', 'a range that goes upwards', `${fromMs} to ${toMs}`);
}

function check(isFine: boolean, option: string, expected: string, value: unknown): void {
  if (isFine) return;
  const message = `Cannot start the sandbox as '${option}' must be ${expected}: current value is ${String(value)}`;
  throw new SandboxError('sandbox_invalid_option', message);
}

/** Reasons why the sandbox could not be started. */
type SandboxErrorCode = 'sandbox_port_in_use' | 'sandbox_cannot_listen' | 'sandbox_invalid_option';

/** The sandbox could not be started; the message says what to change. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  readonly code: SandboxErrorCode;

  constructor(code: SandboxErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
