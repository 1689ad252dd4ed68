import { mkdirSync } from 'node:fs';
import { PRIVATE_FOLDER } from '../../common/file-access.ts';
import { BEAT_MS, describeSelf, type Owner } from '../../common/owner.ts';
import { type ClaimsOfOthers, readClaimsOfOthers } from './claims-of-others.ts';
import { STANDSTILL_MS } from './other-run.ts';
import { type OwnClaims, openOwnClaims } from './own-claims.ts';

/**
 * Which domains the runs on one store have under way, so that no two runs ask about the same one.
 * Each run notes what it is about to ask in a file, and then reads the files of the others.
 *
 * Two runs may each find that the other wants the same domain. Then neither gets it, and both try
 * again a little later. When files cannot be written, a run goes on as if it were alone.
 */
export interface Claims {
  /**
   * Claims domains before they are asked.
   *
   * @param isDone whether another run has asked a domain meanwhile
   */
  take(domains: readonly string[], isDone: (domain: string) => boolean): TakenClaims;
  /** Withdraws all claims, apart from those of lookups that go on at workers. */
  close(): void;
}

export interface TakenClaims {
  /** Domains that may be asked. */
  readonly granted: readonly string[];
  /** Domains that another run has under way. */
  readonly refused: readonly string[];
}

export interface ClaimsOptions {
  readonly endpointId: string;
  /** The domains that this run has under way, including those to be claimed. */
  readonly underWay: ReadonlySet<string>;
  /** Whether this run waits for a person, for example to resume it. @default never */
  readonly standsStill?: () => boolean;
  /** Called before `isDone` when there are other runs, which may have stored outcomes just now. */
  readonly onOthers: () => void;
  /** Where lookups are made, if not in this process. @default in this process */
  readonly elsewhere?: LookupsElsewhere | undefined;
  /** This run. */
  readonly self?: Owner;
  /** How often the file of claims is renewed. @default 2 s */
  readonly renewMs?: number;
  /** How long runs on other machines may be silent. @default 10 s */
  readonly silenceMs?: number;
  /** A monotonic clock, in milliseconds. */
  readonly now?: () => number;
}

/** Lookups on a queue. They go on when their run is lost. */
export interface LookupsElsewhere {
  /** The name of this run on the queue. */
  readonly runId: string;
  /**
   * Stores what workers found for a lost run, and takes the rest back.
   *
   * @returns whether nothing of the run is left on the queue
   */
  readonly endLost: (runId: string) => Promise<boolean>;
}

/**
 * Creates the claims of a run. Nothing is written before the first claim.
 *
 * @param folder the folder of the files, created if it does not exist
 */
export function createClaims(folder: string, options: ClaimsOptions): Claims {
  const { self = describeSelf(), onOthers, elsewhere } = options;
  let open: OpenClaims | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isUnusable = false;

  function begin(): OpenClaims {
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    const own = openOwnClaims(folder, { ...options, ...elsewhere, owner: self });
    const others = readClaimsOfOthers(folder, { ...options, ...elsewhere, self });
    timer = renewOften(own, options);
    return { own, others };
  }

  function end(): void {
    if (!open) return;
    clearInterval(timer);
    open.others.close();
    // Workers go on with lookups that a stopped run could not wait for.
    if (elsewhere && options.underWay.size > 0) open.own.leave();
    else open.own.close();
    open = undefined;
  }

  function take(domains: readonly string[], isDone: (domain: string) => boolean): TakenClaims {
    open ??= begin();
    const { own, others } = open;
    own.add(domains);
    if (!others.look()) return { granted: domains, refused: [] };
    onOthers();
    const refused = domains.filter((domain) => others.has(domain));
    const granted = domains.filter((domain) => !others.has(domain) && !isDone(domain));
    const isGranted = new Set(granted);
    own.withdraw(domains.filter((domain) => !isGranted.has(domain)));
    return { granted, refused };
  }

  return {
    take: (domains, isDone) => {
      if (isUnusable) return { granted: domains, refused: [] };
      try {
        return take(domains, isDone);
      } catch {
        isUnusable = true;
        return { granted: domains, refused: [] };
      }
    },
    close: () => unlessItFails(end),
  };
}

interface OpenClaims {
  readonly own: OwnClaims;
  readonly others: ClaimsOfOthers;
}

/**
 * Renews the claims unless this run stands still for long. A run that waits for the API does not
 * stand still: others would take its domains, and both would ask them after the wait.
 */
function renewOften(
  own: OwnClaims,
  {
    underWay,
    standsStill = () => false,
    renewMs = BEAT_MS,
    now = () => performance.now(),
  }: ClaimsOptions,
): NodeJS.Timeout {
  let movedAtMs = now();
  let hasLetGo = false;
  const timer = setInterval(() => {
    if (!standsStill()) movedAtMs = now();
    const letsGo = now() - movedAtMs >= STANDSTILL_MS;
    if (!letsGo) unlessItFails(() => own.renew());
    else if (!hasLetGo) unlessItFails(() => own.withdraw([...underWay]));
    hasLetGo = letsGo;
  }, renewMs);
  return timer.unref();
}

/** Ignores errors. Others see that a run whose file cannot be written gives no sign of life. */
function unlessItFails(work: () => void): void {
  try {
    work();
  } catch {
    // The next attempt may succeed.
  }
}

/** For a store that keeps nothing. */
export const NO_CLAIMS: Claims = {
  take: (domains) => ({ granted: domains, refused: [] }),
  close: () => {},
};
