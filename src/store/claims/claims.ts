import { mkdirSync } from 'node:fs';
import { BEAT_MS, describeSelf, type Owner } from '../../common/owner.ts';
import { type ClaimsOfOthers, readClaimsOfOthers } from './claims-of-others.ts';
import { STANDSTILL_MS } from './other-run.ts';
import { type OwnClaims, openOwnClaims } from './own-claims.ts';

/**
 * Which domains runs on one store have under way, so that none is asked by two of them: each run notes
 * what it is about to ask in a file, and then reads those of the others.
 *
 * Both may find that the other one wants the same; then neither has it, and both try again a little later.
 * Where files cannot be written, a run goes on as if it were alone.
 */
export interface Claims {
  /**
   * Claims domains, before they are asked.
   *
   * @param isDone whether another run has asked meanwhile
   */
  take(domains: readonly string[], isDone: (domain: string) => boolean): TakenClaims;
  /** Takes all claims back, but for those of lookups that go on elsewhere. */
  close(): void;
}

export interface TakenClaims {
  /** May be asked. */
  readonly granted: readonly string[];
  /** Another run has them under way. */
  readonly refused: readonly string[];
}

export interface ClaimsOptions {
  readonly endpointId: string;
  /** What this run has under way; the domains to be claimed are in it already. */
  readonly underWay: ReadonlySet<string>;
  /** Whether nothing comes of that until somebody does something, such as to resume a paused run. @default never */
  readonly standsStill?: () => boolean;
  /** Called before it is asked what is done, when others may have done it just now. */
  readonly onOthers: () => void;
  /** Where lookups are made, if that is not here. @default here */
  readonly elsewhere?: LookupsElsewhere | undefined;
  /** This run. */
  readonly self?: Owner;
  /** How often it says anew what it has under way. @default 2 s */
  readonly renewMs?: number;
  /** How long others elsewhere may be silent. @default 10 s */
  readonly silenceMs?: number;
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number;
}

/** Lookups on a queue: they go on when their run is lost. */
export interface LookupsElsewhere {
  /** The name of this run there. */
  readonly runId: string;
  /**
   * Keeps what is found out for a run that is lost, and takes the rest back.
   *
   * @returns whether nothing of it is there any more
   */
  readonly endLost: (runId: string) => Promise<boolean>;
}

/**
 * Nothing is written before the first claim.
 *
 * @param folder where the files are, made if it is not there
 */
export function createClaims(folder: string, options: ClaimsOptions): Claims {
  const { self = describeSelf(), onOthers, elsewhere } = options;
  let open: OpenClaims | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isUnusable = false;

  function begin(): OpenClaims {
    mkdirSync(folder, { recursive: true });
    const own = openOwnClaims(folder, { ...options, ...elsewhere, owner: self });
    const others = readClaimsOfOthers(folder, { ...options, ...elsewhere, self });
    timer = renewOften(own, options);
    return { own, others };
  }

  function end(): void {
    if (!open) return;
    clearInterval(timer);
    open.others.close();
    // What a run that is stopped could not wait for goes on at workers.
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
 * Unless this run stands still for long. One that waits for the API does not: others would take what
 * it has, and both would ask when the wait is over.
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

/** Of a file that cannot be written, others see that its run gives no sign of life. */
function unlessItFails(work: () => void): void {
  try {
    work();
  } catch {
    // The next time it may go.
  }
}

/** For whoever keeps nothing. */
export const NO_CLAIMS: Claims = {
  take: (domains) => ({ granted: domains, refused: [] }),
  close: () => {},
};
