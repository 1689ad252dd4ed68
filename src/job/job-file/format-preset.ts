import { Scalar, stringify } from 'yaml';
import { isPrintable, printableLines } from '../../common/printable.ts';
import { SETTINGS } from '../settings.ts';

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
  prefix: string = SETTINGS.prefix.default ?? '',
): string {
  const kept = columns.filter(({ expression }) => expression !== undefined);
  const fields = kept.map(
    ({ name, expression = '' }) =>
      [toScalar(name.slice(prefix.length)), toScalar(expression)] as const,
  );
  const day = fetchedAt.slice(0, 10);
  const comment = `# Columns as ${domain} had them on ${day}, for --fields @FILE. NAME: JMESPath\n`;
  const more =
    kept.length < columns.length ? '# There is more in the answer: see --max-columns.\n' : '';
  return comment + more + printableLines(stringify(new Map(fields), { lineWidth: 0 }));
}

/** Between double quotes YAML knows the same escapes as JSON. */
function toScalar(text: string): Scalar {
  const scalar = new Scalar(text);
  if (!isPrintable(text)) scalar.type = Scalar.QUOTE_DOUBLE;
  return scalar;
}
