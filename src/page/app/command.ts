import { flagOf } from '../../options/options.ts';

/** What a run was, as the command line has to know it. */
export interface RunToRepeat {
  /** The program that runs this process, and its file. */
  readonly program: readonly [node: string, file: string];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly input: string;
  /** The variable that holds the key; undefined where none is needed. */
  readonly keyVariable: string | undefined;
}

/** The command that does what a run did, with paths from the root, for a terminal or a timetable. */
export function commandOf({ program, settings, input, keyVariable }: RunToRepeat) {
  const flags = Object.entries(settings).flatMap(([key, value]) => flagsOf(key, value));
  const words = [...program, 'enrich', input];
  return { command: [...words.map(quote), ...flags, '--yes'].join(' '), keyVariable };
}

function flagsOf(key: string, value: unknown): readonly string[] {
  if (value === undefined || value === false) return [];
  const flag = flagOf(key);
  if (value === true) return [flag];
  if (typeof value === 'string' || typeof value === 'number') return [flag, quote(String(value))];
  const pairs = Object.entries(value as Record<string, string>);
  return [flag, quote(pairs.map(([name, expression]) => `${name}=${expression}`).join(','))];
}

/** A word of a shell, whatever is in it. */
function quote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
