import type { Scalar } from 'yaml';
import { z } from 'zod';
import { createField, type Field } from '../collector/fields/fields.ts';
import { BrandfillError } from '../common/errors.ts';
import { isPrintable, printableLines } from '../common/text.ts';
import { refusal } from './option.ts';
import { loadYaml, readText, readYaml } from './yaml.ts';

// A preset is a set of columns that is kept in a file: YAML or JSON, names with their JMESPath.

/** The path of a preset, if a text names one: `@brand.yaml`. */
export function presetPathOf(text: string): string | undefined {
  return text.startsWith('@') ? text.slice(1).trim() : undefined;
}

const COLUMNS = z.record(
  z.string().regex(/\S/, 'expected the name of a column'),
  z.string('expected an expression such as location.city'),
  "expected names with expressions, such as 'city: location.city'",
);

/**
 * Reads a preset.
 *
 * @throws BrandfillError `INVALID_SETTING` that says where in the file it is wrong, to follow the name of the
 *   setting
 */
export function readPreset(path: string): readonly Field[] {
  const { visit } = loadYaml();
  const file = readYaml(path, readText(path, 'the preset'), {
    // `no` is a name, not false.
    prepare: (doc) =>
      visit(doc, {
        Scalar: (_, node) => {
          if (typeof node.value !== 'string' && node.source) node.value = node.source;
        },
      }),
  });
  const columns = Object.entries(file.problem() === undefined ? (file.check(COLUMNS) ?? {}) : {});
  const fields = columns.flatMap(([name, expression]) => {
    try {
      return createField(name.trim(), expression);
    } catch (error) {
      if (!(error instanceof BrandfillError)) throw error;
      file.note([name], error.message);
      return [];
    }
  });
  const problem = file.problem();
  if (problem !== undefined) throw refusal(problem);
  return fields;
}

/** The facts of a trial that go into the preset. */
interface PresetSource {
  readonly domain: string;
  /** As ISO 8601. */
  readonly fetchedAt: string | undefined;
  readonly columns: readonly {
    readonly name: string;
    readonly expression: string | undefined;
  }[];
}

/** The columns of a trial as a preset, with a comment that says where they come from. */
export function formatPreset(
  { domain, columns, fetchedAt = '' }: PresetSource,
  prefix: string,
): string {
  const yaml = loadYaml();
  const toScalar = (text: string): Scalar => {
    const scalar = new yaml.Scalar(text);
    // Between double quotes YAML knows the same escapes as JSON.
    if (!isPrintable(text)) scalar.type = 'QUOTE_DOUBLE';
    return scalar;
  };
  const fields = columns.flatMap(({ name, expression }) =>
    expression === undefined
      ? []
      : [[toScalar(name.slice(prefix.length)), toScalar(expression)] as const],
  );
  const comment = `# Columns as ${domain} had them on ${fetchedAt.slice(0, 10)}, for --fields @FILE. NAME: JMESPath\n`;
  const more =
    fields.length < columns.length
      ? '# There is more in the answer: see brandfill try --json.\n'
      : '';
  return comment + more + printableLines(yaml.stringify(new Map(fields), { lineWidth: 0 }));
}
