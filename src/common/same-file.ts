/** What tells a file from every other one, as the file system has it. */
export interface FileIdentity {
  readonly dev: number;
  readonly ino: number;
}

/** Whether what was found at two paths is one file; where nothing was found, there is none. */
export function isSameFile(
  one: FileIdentity | undefined,
  other: FileIdentity | undefined,
): boolean {
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino;
}
