import { findNearest } from '../common/text.ts';

/** The environment of a process, by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A text with its variables replaced. */
export interface Expanded {
  readonly text: string;
  /** Names of the variables in it. */
  readonly names: readonly string[];
  readonly problems: readonly VariableProblem[];
}

/** A problem with a variable, and the part of the text that it is about. */
export interface VariableProblem {
  readonly part: string;
  readonly message: string;
}

const PARTS =
  /\$\$\{|\$\{(?<name>[A-Za-z_]\w*)(?::-(?<fallback>(?:(?!\$\{)[^}])*))?\}|(?<broken>\$\{[^}]*\}?)/g;

/**
 * Replaces variables: `${NAME}`, and `${NAME:-default}` where NAME is not set or empty. `$${` is a
 * plain `${`.
 */
export function expandVariables(text: string, env: Environment): Expanded {
  const names: string[] = [];
  const problems: VariableProblem[] = [];
  const expanded = text.replaceAll(PARTS, (part, ...rest: readonly unknown[]) => {
    const { name, fallback, broken } = rest.at(-1) as Partial<Record<string, string>>;
    if (broken !== undefined) {
      const message =
        'expected ${NAME} or ${NAME:-default}, whose default is plain text; write $${ where a plain ${ is meant';
      problems.push({ part, message });
    }
    if (name === undefined) return '${';
    names.push(name);
    const value = fallback === undefined ? env[name] : env[name] || fallback;
    if (value === undefined) {
      const message = `the environment has no variable ${name}; set it, or give a default: \${${name}:-…}`;
      problems.push({ part, message });
    }
    return value ?? '';
  });
  return { text: expanded, names, problems };
}

/** The values of the placeholders in the paths of a job. */
export type PlaceholderValues = Readonly<Record<'date' | 'time', string>>;

/**
 * The values of `{date}` (YYYY-MM-DD) and `{time}` (HHMMSS).
 *
 * @param timeZone such as `Europe/Berlin`; the machine's own when it is not given
 */
export function placeholdersAt(now: Date, timeZone: string | undefined): PlaceholderValues {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const join = (...names: readonly Intl.DateTimeFormatPartTypes[]): readonly string[] =>
    names.map((name) => parts.get(name) ?? '');
  return {
    date: join('year', 'month', 'day').join('-'),
    time: join('hour', 'minute', 'second').join(''),
  };
}

/** Puts the values into a path. A returned text instead of them says what is wrong. */
export function fillPlaceholders(
  path: string,
  values: PlaceholderValues,
): { readonly path: string } | { readonly problem: string } {
  const known = Object.keys(values);
  for (const [part, name = ''] of path.matchAll(/\{([A-Za-z]+)\}/g)) {
    if (known.includes(name)) continue;
    const meant = findNearest(name, known);
    const hint =
      meant === undefined
        ? `the placeholders are ${known.map((one) => `{${one}}`).join(' and ')}`
        : `did you mean {${meant}}?`;
    return { problem: `there is no ${part}; ${hint}` };
  }
  return {
    path: path.replaceAll(/\{(date|time)\}/g, (_, name: 'date' | 'time') => values[name]),
  };
}
