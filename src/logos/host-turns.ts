import fastq from 'fastq';
import type { Fetched, NoPicture } from './fetch-picture.ts';

/**
 * Limits the pictures that are fetched at a time, in all and from one host, and leaves failing
 * hosts alone.
 */
export interface HostTurns {
  /** Fetches when it is the turn of this host. A request that was answered 429 is repeated. */
  take(host: string, fetch: () => Promise<Fetched>): Promise<Fetched>;
}

export interface HostTurnsOptions {
  /** Most pictures that are fetched at the same time. */
  readonly concurrency: number;
  /** Most pictures that are fetched from one host. */
  readonly perHost: number;
  /** Once it fires, nothing more is fetched. */
  readonly signal: AbortSignal;
  /** Milliseconds since any fixed time. */
  readonly now: () => number;
  /** Resolves after this many milliseconds, or at once when the signal fires. */
  readonly sleep: (ms: number) => Promise<void>;
}

interface Host {
  /** Present while somebody waits for the host. */
  turns: Turns | undefined;
  /** Number of pictures that are fetched from it, or wait for their turn. */
  waiting: number;
  /** How often in a row it gave no answer, or no definite one. */
  troubles: number;
  restUntilMs: number;
  isOut: boolean;
}

/** After this many troubles in a row, a host is out for the rest of the run. */
const MOST_TROUBLES = 5;
const MOST_TRIES = 3;
/**
 * Beyond this many hosts, those in trouble that nobody waits for are forgotten, the oldest first.
 */
const MOST_REMEMBERED = 10_000;
/** How long to leave a host alone that answers 429 without a time. */
const REST_MS = 2_000;
/** A host that wants to be left alone for longer is left to the next run. */
const LONGEST_REST_MS = 30_000;

export const NOT_ASKED: NoPicture = { reason: 'not_asked' };
const HOST_OUT: NoPicture = { reason: 'host_out' };

export function createHostTurns(options: HostTurnsOptions): HostTurns {
  const { concurrency, perHost, signal, now, sleep } = options;
  const all = createTurns(concurrency);
  const hosts = new Map<string, Host>();

  async function fetchInTurn(host: Host, fetch: () => Promise<Fetched>): Promise<Fetched> {
    for (let tries = 1; ; tries += 1) {
      for (let waitMs = restOf(host); waitMs > 0 && !signal.aborted; waitMs = restOf(host)) {
        await sleep(waitMs);
      }
      const fetched = await all.push(async () => {
        if (signal.aborted) return NOT_ASKED;
        if (host.isOut) return HOST_OUT;
        const fetched = await fetch();
        note(host, fetched);
        return fetched;
      });
      if (!isThrottled(fetched) || host.isOut || tries === MOST_TRIES) return fetched;
    }
  }

  function restOf(host: Host): number {
    return host.isOut ? 0 : host.restUntilMs - now();
  }

  function note(host: Host, fetched: Fetched): void {
    if (!('reason' in fetched) || !isHostTrouble(fetched.reason)) {
      host.troubles = 0;
      return;
    }
    host.troubles += 1;
    const restMs = fetched.retryAfterMs ?? (fetched.reason === 'http_429' ? REST_MS : 0);
    host.restUntilMs = Math.max(host.restUntilMs, now() + restMs);
    host.isOut ||= host.troubles >= MOST_TROUBLES || restMs > LONGEST_REST_MS;
  }

  /**
   * Forgets a host. There may be as many hosts as domains: if nobody waits for a host, only its
   * troubles are kept.
   */
  function letGo(name: string, host: Host): void {
    host.turns = undefined;
    if (host.troubles === 0) hosts.delete(name);
    if (hosts.size > MOST_REMEMBERED) forgetOldest();
  }

  function forgetOldest(): void {
    for (const [name, { waiting, isOut }] of hosts) {
      if (waiting > 0 || isOut) continue;
      hosts.delete(name);
      return;
    }
  }

  return {
    take: async (name, fetch) => {
      const host = hosts.get(name) ?? createHost();
      hosts.set(name, host);
      if (host.isOut) return HOST_OUT;
      host.waiting += 1;
      host.turns ??= createTurns(perHost);
      try {
        return await host.turns.push(() => fetchInTurn(host, fetch));
      } finally {
        host.waiting -= 1;
        if (host.waiting === 0) letGo(name, host);
      }
    },
  };
}

type Turns = fastq.queueAsPromised<() => Promise<Fetched>, Fetched>;

function createTurns(concurrency: number): Turns {
  return fastq.promise(async (fetch) => await fetch(), concurrency);
}

function createHost(): Host {
  return { turns: undefined, waiting: 0, troubles: 0, restUntilMs: 0, isOut: false };
}

/** Whether a reason is about the host rather than the picture. */
export function isHostTrouble(reason: string): boolean {
  return TROUBLES.has(reason);
}

const TROUBLES: ReadonlySet<string> = new Set([
  'timeout',
  'connection_refused',
  'connection_reset',
  'dns_failure',
  'dns_unavailable',
  'no_route',
  'tls_failure',
  'tls_refused',
  'tls_too_old',
  'client_certificate_required',
  'http2_only',
  'network_error',
  'http_429',
  'http_502',
  'http_503',
  'http_504',
]);

/** Whether the host asked to be left alone for a while, which says nothing about the picture. */
function isThrottled(fetched: Fetched): boolean {
  if (!('reason' in fetched)) return false;
  const { reason, retryAfterMs } = fetched;
  return reason === 'http_429' || (isHostTrouble(reason) && retryAfterMs !== undefined);
}
