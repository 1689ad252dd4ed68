import { closeSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beginWith, type ClaimHead, linesOf, WITHDRAWN } from './claim-lines.ts';

/** The claims of this run, in a file that others read. */
export interface OwnClaims {
  readonly path: string;
  add(domains: readonly string[]): void;
  /** Takes some back. */
  withdraw(domains: readonly string[]): void;
  /** Writes the file anew, without domains that have their outcomes by now; also a sign of life. */
  renew(): void;
  /** Leaves those that are under way to whoever wants them. */
  leave(): void;
  /** Takes all back. */
  close(): void;
}

/** A longer file is written anew before its time, and then all runs look which files there are. */
const MOST_BYTES = 512 * 1024;

/**
 * @param folder which is there
 * @param underWay the domains that this run has under way, those it is about to add too
 * @throws Error of the file system
 */
export function openOwnClaims(
  folder: string,
  { owner, endpointId, runId, underWay }: OwnClaimsOptions,
): OwnClaims {
  const path = join(folder, owner.token);
  let sizeBytes = 0;
  let mostBytes = MOST_BYTES;
  let file = begin();

  /** Under its name it is whole from the first moment. */
  function begin(): number {
    const temporary = join(folder, `.${owner.token}`);
    const text = beginWith({ owner, endpointId, runId }) + linesOf(underWay);
    writeFileSync(temporary, text);
    renameSync(temporary, path);
    sizeBytes = text.length;
    // However many are under way, not every chunk begins it anew.
    mostBytes = Math.max(MOST_BYTES, 2 * sizeBytes);
    return openSync(path, 'a');
  }

  function renew(): void {
    const next = begin();
    closeSync(file);
    file = next;
  }

  function append(text: string): void {
    if (sizeBytes + text.length > mostBytes) renew();
    writeSync(file, text);
    sizeBytes += text.length;
  }

  return {
    path,
    add: (domains) => append(linesOf(domains)),
    withdraw: (domains) => append(linesOf(domains, WITHDRAWN)),
    renew,
    leave: () => {
      renew();
      closeSync(file);
    },
    close: () => {
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
}

export interface OwnClaimsOptions extends ClaimHead {
  readonly underWay: Iterable<string>;
}
