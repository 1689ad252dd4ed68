import { type ExecFileException, execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { withoutCredentials } from '../common/secrets.ts';

// LMDB maps its file into memory and trusts it: a page number that leads out of the file, or an
// offset out of its page, ends the process by a signal. So a file that something else than LMDB may
// have changed is read and written by LMDB in a process of its own first, which may end so. What
// the entries hold is checked when they are read, each by its checksum.

/**
 * Each entry is read, and written in a transaction that is given up. Lists of free pages are not
 * read by that, so the file has to be as long as it says. Keys that are out of order are not found,
 * or hide others.
 */
const REHEARSE = `
const { statSync } = require('node:fs');
const { ABORT, open } = require(process.argv[1]);
try {
  const root = open({ path: process.argv[2], noSubdir: false, maxDbs: 16 });
  const { pageSize, lastPageNumber } = root.getStats();
  if (statSync(process.argv[2] + '/data.mdb').size < (lastPageNumber + 1) * pageSize) throw new Error('cut off');
  for (const name of [...root.getKeys()]) {
    const table = root.openDB(name, { keyEncoding: 'binary', encoding: 'binary' });
    let [last, count, entries] = [Buffer.alloc(0), 0, []];
    do {
      entries = [];
      let bytes = 0;
      for (const { key, value } of table.getRange({ start: last, exclusiveStart: count > 0, limit: 500 })) {
        if (count > 0 && Buffer.compare(last, key) >= 0) throw new Error('out of order');
        last = Buffer.from(key);
        count += 1;
        bytes += value.length;
        entries.push([last, value]);
        if (bytes > 4e6) break;
      }
      root.transactionSync(() => {
        for (const [key, value] of entries) table.putSync(key, value);
        return ABORT;
      });
    } while (entries.length > 0);
    if (count !== table.getStats().entryCount) throw new Error('incomplete');
  }
} catch {
  process.exit(3);
}
process.exit(0);
`;

interface TrialOptions {
  readonly signal?: AbortSignal | undefined;
  /**
   * How long it may take, as LMDB may walk through damaged pages without end.
   *
   * @default half a minute, and a second for 5 MB
   */
  readonly longestMs?: number;
  /** The path of the module that reads the file. @default that of LMDB */
  readonly lmdb?: string;
}

/** How a process ends that reads what is not there, or that gives up. */
const CRASH = /^SIG(?:BUS|SEGV|ABRT|ILL|TRAP)$/;

/**
 * Whether LMDB can read and write all of the database in a folder, which takes some seconds for a
 * gigabyte.
 *
 * @throws Error when that cannot be found out; the signal's reason when it fires before
 */
export async function isUsable(
  folder: string,
  { signal, longestMs, lmdb = pathOfLmdb() }: TrialOptions = {},
): Promise<boolean> {
  const args = ['--input-type=commonjs', '-e', REHEARSE, lmdb, folder];
  const timeout = longestMs ?? 30_000 + Math.ceil(statSync(join(folder, 'data.mdb')).size / 5_000);
  const env = withoutCredentials(process.env);
  const options = { env, timeout, killSignal: 'SIGABRT', ...(signal && { signal }) } as const;
  const ended = await new Promise<Pick<ExecFileException, 'code' | 'signal'> | null>((resolve) => {
    execFile(process.execPath, args, options, resolve);
  });
  signal?.throwIfAborted();
  if (ended === null) return true;
  const { code, signal: by } = ended;
  if (code === 3 || CRASH.test(by ?? '')) return false;
  throw new Error(`trying its file data.mdb was ended (${by ?? code})`);
}

function pathOfLmdb(): string {
  return createRequire(import.meta.url).resolve('lmdb');
}
