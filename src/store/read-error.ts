import { BrandfillError, describeSystemError } from '../common/errors.ts';

/** Says why a store cannot be read. LMDB notices damage only when it comes to the damaged page. */
export function readError(
  folder: string,
  error: Error & { readonly code: number },
): BrandfillError {
  const why = describeSystemError(error);
  const message = DAMAGES.has(error.code)
    ? `its file data.mdb is damaged (${why}); put a copy of the folder in its place, or choose another folder with --store`
    : `${why}; run the same command again`;
  return new BrandfillError('UNUSABLE_STORE', `Cannot read the store ${folder}: ${message}.`, {
    cause: error,
  });
}

/** `MDB_PAGE_NOTFOUND`, `MDB_CORRUPTED`, `MDB_INVALID`, and `MDB_BAD_TXN`, which follows from them. */
const DAMAGES: ReadonlySet<number> = new Set([-30797, -30796, -30793, -30782]);

/** Whether an error is LMDB's own: it has the number of LMDB's error, or of the system's. */
export function isLmdbError(error: unknown): error is Error & { readonly code: number } {
  return error instanceof Error && 'code' in error && typeof error.code === 'number';
}
