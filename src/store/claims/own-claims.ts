import { closeSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { beginWith, type ClaimHead, linesOf, WITHDRAWN } from './claim-lines.ts';

/** The claims of this run, in a file that other runs read. */
export interface OwnClaims {
  readonly path: string;
  add(domains: readonly string[]): void;
  /** Withdraws claims. */
  withdraw(domains: readonly string[]): void;
  /**
   * Writes the file anew, without domains that have outcomes by now. This is also a sign of life.
   */
  renew(): void;
  /** Leaves the domains under way to any run that wants them. */
  leave(): void;
  /** Withdraws all claims. */
  close(): void;
}

/** A longer file is renewed early, which makes all runs list the folder. */
const MOST_BYTES = 512 * 1024;

/**
 * @param folder an existing folder
 * @param underWay the domains that this run has under way, including those it is about to add
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

  /** Writes the file under another name first, so that it is never seen incomplete. */
  function begin(): number {
    const temporary = join(folder, `.${owner.token}`);
    const text = beginWith({ owner, endpointId, runId }) + linesOf(underWay);
    writeFileSync(temporary, text);
    renameSync(temporary, path);
    sizeBytes = text.length;
    // However many domains are under way, not every chunk should renew the file.
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
