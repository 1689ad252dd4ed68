/** Settings that programs give under another name. */
const LIBRARY_NAMES: Readonly<Record<string, string>> = {
  param: 'params',
  header: 'headers',
};

/** How an option is called in messages to programs; the command line says `--base-url`. */
export const libraryNaming = (key: string): string => `'${LIBRARY_NAMES[key] ?? key}'`;
