import { draw, hashText, purposes } from './brand-answer.ts';
import type { SandboxAnswer, SandboxReply } from './options.ts';
import {
  callRange,
  durationOf,
  fill,
  isInShare,
  isShare,
  type SandboxRule,
  type Sent,
} from './script-rule.ts';

/** A call, as far as a script asks about it. */
export interface ScriptedCall {
  domain: string;
  /** The hash of the domain. */
  hash: number;
  /** The number of the call among those for its domain. */
  ordinal: number;
  /** Whether its connection has had a call before. */
  isReused: boolean;
}

/** A script that is being played. */
export interface Script {
  /** The answer to a call of the API, if a rule fits. */
  replyTo(call: ScriptedCall): SandboxReply | undefined;
  /** Whether rules are for this path, which is not the API's. */
  has(path: string): boolean;
  /** The answer at such a path, if a rule fits. */
  replyAt(path: string, domain: string): SandboxReply | undefined;
  /** Begin anew: forget how often and how long rules have answered. */
  reset(): void;
}

/** Create the player of a script that was checked. */
export function createScript(
  rules: readonly SandboxRule[],
  { seed = 1, now = Date.now }: { seed?: number | undefined; now?: () => number } = {},
): Script {
  let parts = rules.map(startRule);
  let calls = 0;
  const createReply = (part: PlayedRule, domain: string, hash: number): SandboxReply => {
    part.firstMs ??= now();
    const { rule, firstMs } = part;
    const leftMs = rule.for === undefined ? 0 : firstMs + durationOf(rule.for) - now();
    return replyOf(rule, { domain, hash, call: calls, seed, nowMs: now(), leftMs });
  };
  return {
    replyTo: (call) => {
      calls += 1;
      const part = parts.find(
        (part) => part.rule.path === undefined && fits(part, { ...call, calls, nowMs: now() }),
      );
      if (part === undefined) return undefined;
      if (part.rule.times !== undefined || part.rule.forDomain !== undefined) {
        const { count, firstMs } = part.domains.get(call.domain) ?? { count: 0, firstMs: now() };
        part.domains.set(call.domain, { count: count + 1, firstMs });
      }
      return createReply(part, call.domain, call.hash);
    },
    has: (path) => rules.some((rule) => rule.path === path),
    replyAt: (path, domain) => {
      const part = parts.find((part) => part.rule.path === path && isInTime(part, now()));
      return part && createReply(part, domain, hashText(domain, seed));
    },
    reset: () => {
      parts = rules.map(startRule);
      calls = 0;
    },
  };
}

interface PlayedRule {
  readonly rule: SandboxRule;
  /** When it answered for the first time. */
  firstMs: number | undefined;
  /** How often, and since when, it has answered a domain; kept where the rule asks for it. */
  readonly domains: Map<string, { readonly count: number; readonly firstMs: number }>;
}

function startRule(rule: SandboxRule): PlayedRule {
  return { rule, firstMs: undefined, domains: new Map() };
}

function fits(
  part: PlayedRule,
  { calls, nowMs, ...call }: ScriptedCall & { readonly calls: number; readonly nowMs: number },
): boolean {
  const { rule } = part;
  const { times = Infinity, forDomain } = rule;
  const [from, to] = callRange(rule.calls ?? '1-') ?? [1, Infinity];
  if (calls < from || calls > to) return false;
  if (rule.reused !== undefined && rule.reused !== call.isReused) return false;
  if (!isInTime(part, nowMs)) return false;
  const before = part.domains.get(call.domain);
  if (before && before.count >= times) return false;
  if (before && forDomain !== undefined && nowMs >= before.firstMs + durationOf(forDomain)) {
    return false;
  }
  const { share } = rule;
  const drawn = () => draw(call.hash, purposes.scriptedCall, call.ordinal);
  if (share !== undefined && !isInShare(share, drawn())) return false;
  return hasDomain(rule.domains, call);
}

function isInTime({ rule, firstMs }: PlayedRule, nowMs: number): boolean {
  return rule.for === undefined || firstMs === undefined || nowMs < firstMs + durationOf(rule.for);
}

function hasDomain(
  domains: SandboxRule['domains'],
  { domain, hash }: Pick<ScriptedCall, 'domain' | 'hash'>,
): boolean {
  if (domains === undefined) return true;
  return [domains]
    .flat()
    .some((name) =>
      isShare(name) ? isInShare(name, draw(hash, purposes.scriptedDomain)) : isLike(domain, name),
    );
}

/** Whether a domain fits a name in which `*` stands for any text. */
function isLike(domain: string, name: string): boolean {
  const [first = '', ...others] = name.split('*');
  const last = others.pop();
  if (last === undefined) return domain === first;
  if (!domain.startsWith(first) || !domain.endsWith(last)) return false;
  let at = first.length;
  for (const piece of others) {
    at = domain.indexOf(piece, at);
    if (at === -1) return false;
    at += piece.length;
  }
  return at <= domain.length - last.length;
}

const WITH_BRAND: ReadonlySet<number> = new Set([200, 201, 203, 206]);

function replyOf(rule: SandboxRule, sent: Sent): SandboxReply {
  const { status = 200, raw, end, cut = false, delay, encoding = 'utf8' } = rule;
  if (end !== undefined) return end;
  const delayMs = delay === undefined ? {} : { delayMs: durationOf(delay) };
  if (raw !== undefined) return { ...delayMs, status: statusOf(raw), raw: fill(raw, sent) };
  const body = rule.body ?? (WITH_BRAND.has(status) ? '{brand}' : '');
  const text = fill(typeof body === 'string' ? body : JSON.stringify(body), sent);
  const headers = Object.entries(rule.headers ?? {}).map(([name, value]) => [
    name,
    fill(String(value), sent),
  ]);
  return {
    ...delayMs,
    status,
    headers: Object.fromEntries(headers) as SandboxAnswer['headers'] & object,
    body: encoding === 'utf8' ? text : Buffer.from(text, encoding),
    breakOff: cut,
  };
}

/** The status that raw bytes carry, for the counts: the last one that is no 1xx. */
function statusOf(raw: string): number {
  const statuses = [...raw.matchAll(/^HTTP\/\d(?:\.\d)? +([2-9]\d\d)/gm)];
  return Number(statuses.at(-1)?.[1] ?? 0);
}
