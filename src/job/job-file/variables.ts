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
