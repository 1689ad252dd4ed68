/** The identity of a file in the file system. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Whether the files found at two paths are the same one. False if nothing was found. */
export function isSameFile(
  one: FileIdentity | undefined,
  other: FileIdentity | undefined,
): boolean {
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}
