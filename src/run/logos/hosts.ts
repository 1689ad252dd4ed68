import fastq from 'fastq';
import { aboutOf } from '../../common/reasons.ts';
import type { Fetched } from './fetch-picture.ts';

export interface HostOptions {
  /** Most pictures that are fetched at the same time. */
  readonly concurrency: number;
  /** Most pictures that are fetched from one host. */
  readonly perHost: number;
  /** Once it fires, nothing more is fetched. */
  readonly signal: AbortSignal;
}

interface Host {
  readonly turns: Turns;
  /** How often in a row it gave no answer, or no definite one. */
  troubles: number;
}

type Turns = fastq.queueAsPromised<() => Promise<Fetched>, Fetched>;

/** After this many troubles in a row, a host is out for the rest of the run. */
const MOST_TROUBLES = 5;

/** Limits the pictures that are fetched at a time, and leaves failing hosts to the next run. */
export function createHosts({ concurrency, perHost, signal }: HostOptions) {
  const all = createTurns(concurrency);
  const hosts = new Map<string, Host>();

  async function fetchInTurn(host: Host, fetch: () => Promise<Fetched>): Promise<Fetched> {
    if (signal.aborted) return { reason: 'not_asked' };
    if (host.troubles >= MOST_TROUBLES) return { reason: 'host_out' };
    const fetched = await all.push(fetch);
    host.troubles = 'reason' in fetched && isHostTrouble(fetched.reason) ? host.troubles + 1 : 0;
    return fetched;
  }

  return {
    /** Fetches when it is the turn of this host. */
    take: async (name: string, fetch: () => Promise<Fetched>): Promise<Fetched> => {
      const host = hosts.get(name) ?? { turns: createTurns(perHost), troubles: 0 };
      hosts.set(name, host);
      const fetched = await host.turns.push(() => fetchInTurn(host, fetch));
      // There may be as many hosts as domains: only those in trouble are remembered.
      if (host.turns.idle() && host.troubles === 0) hosts.delete(name);
      return fetched;
    },
  };
}

function createTurns(concurrency: number): Turns {
  return fastq.promise(async (fetch) => await fetch(), concurrency);
}

/** Whether a reason is about the host rather than the picture. */
export function isHostTrouble(reason: string): boolean {
  const about = aboutOf(reason);
  return about === 'api' || about === 'machine' || about === 'address';
}
