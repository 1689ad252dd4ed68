import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createOtherRun, type OtherRun, type OtherRunOptions } from './other-run.ts';

/** The domains that other runs at the same API have under way. */
export interface ClaimsOfOthers {
  /**
   * Reads what is new in all readable files.
   *
   * @returns whether there are other runs, or were at the last look
   * @throws Error of the file system when the folder cannot be listed
   */
  look(): boolean;
  /** Whether a live run, or workers of a lost one, had a domain under way at the last look. */
  has(domain: string): boolean;
  close(): void;
}

/** Two changes of a folder within a tick of the file system's clock have the same time. */
const TICK_MS = 100;

/** @param folder an existing folder */
export function readClaimsOfOthers(folder: string, options: OtherRunOptions): ClaimsOfOthers {
  const others = new Map<string, OtherRun>();
  let listedAtMs = Number.NaN;

  function list(): void {
    const { mtimeMs } = statSync(folder);
    if (mtimeMs === listedAtMs && Math.abs(Date.now() - mtimeMs) > TICK_MS) return;
    for (const name of readdirSync(folder)) {
      // Files that are not complete yet have names with a leading dot.
      if (name.startsWith('.') || name === options.self.token || others.has(name)) continue;
      others.set(name, createOtherRun(join(folder, name), options));
    }
    listedAtMs = mtimeMs;
  }

  return {
    look: () => {
      list();
      let areThere = false;
      for (const [name, other] of others) {
        const state = other.look();
        // A run that has just ended may have stored what was asked for.
        areThere ||= state !== 'of_no_concern';
        if (state !== 'gone') continue;
        other.close();
        others.delete(name);
      }
      return areThere;
    },
    has: (domain) => {
      for (const other of others.values()) if (other.has(domain)) return true;
      return false;
    },
    close: () => {
      for (const other of others.values()) other.close();
      others.clear();
    },
  };
}
