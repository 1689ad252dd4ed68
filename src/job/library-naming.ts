/** Settings that have another name in programs. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = {
  param: 'params',
  header: 'headers',
};

/** The name of an option in messages to programs. The command line uses `--base-url`. */
export const libraryNaming = (key: string): string => `'${LIBRARY_NAMES[key] ?? key}'`;
