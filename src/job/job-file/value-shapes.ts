import { flagOf, type SettingDefinition } from '../read-settings.ts';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** Stands in a shape for a text with `${VAR}` in it, whatever its value. */
const VARIABLE = { $ref: '#/definitions/variable' };

/** Type of names and texts, which may look like numbers. */
const TEXT: JsonSchema = { type: ['string', 'number'] };
const STRING: JsonSchema = { type: 'string' };
const PAIR: JsonSchema = { type: 'string', pattern: '=' };
const PAIRS: JsonSchema = {
  anyOf: [
    PAIR,
    { type: 'array', items: PAIR },
    { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  ],
};

/** The shape of a value in JSON and YAML, by its placeholder in the help. */
const SHAPES: ReadonlyMap<string, JsonSchema> = new Map<string, JsonSchema>([
  ['FILE', STRING],
  ['DIR', STRING],
  ['URL', STRING],
  ['SPEC', STRING],
  ['NUMBER', { type: 'number', minimum: 0 }],
  [
    'DURATION',
    {
      type: ['string', 'integer'],
      pattern: String.raw`^(\d+(\.\d+)?\s*(ms|s|m|min|h|d|w)|0)$`,
      maximum: 0,
      minimum: 0,
    },
  ],
  [
    'N/s, N/min or auto',
    { type: 'string', pattern: String.raw`^(auto|\d+(\.\d+)?\s*/\s*[a-z]+)$` },
  ],
  ['NAME=VALUE', PAIRS],
  [
    'NAME=EXPR,…',
    {
      anyOf: [
        { type: 'string', pattern: '^@|=' },
        { type: 'object', additionalProperties: { type: 'string' } },
      ],
    },
  ],
]);

/** The shape of a setting's value in JSON and YAML. */
export function shapeOf(definition: SettingDefinition<unknown>): JsonSchema {
  const { value, range, isRepeatable = false } = definition;
  if (value === undefined) return { anyOf: [{ type: 'boolean' }, VARIABLE] };
  const known = range ? integerShape(range) : SHAPES.get(value);
  if (known === STRING && isRepeatable) {
    return { anyOf: [STRING, { type: 'array', items: STRING }] };
  }
  if (known) return known === PAIRS || known === STRING ? known : { anyOf: [known, VARIABLE] };
  if (value.includes('=')) return PAIRS;
  return isRepeatable ? { anyOf: [TEXT, { type: 'array', items: TEXT }] } : TEXT;
}

function integerShape({ from, to }: NonNullable<SettingDefinition<unknown>['range']>): JsonSchema {
  return { type: 'integer', minimum: from, ...(to === undefined ? {} : { maximum: to }) };
}

/** Whether the value of a setting may be a list, and whether it may be a map. */
export function mayBe({ value = '', isRepeatable = false }: SettingDefinition<unknown>): {
  readonly list: boolean;
  readonly map: boolean;
} {
  return { list: isRepeatable, map: value.includes('=') };
}

/**
 * Translates a text about options into the words of a job file: `--api-key-file` is `apiKeyFile`.
 */
export function inKeys(text: string, keys: readonly string[]): string {
  const byFlag = new Map(keys.map((key) => [flagOf(key), key]));
  return text.replaceAll(/--[a-z][a-z-]*/g, (flag) => byFlag.get(flag) ?? flag);
}
