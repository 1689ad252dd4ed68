import { isJsonObject, type JsonObject } from '../brand/json-object.ts';
import { expressionOf } from '../collector/fields/enriched-columns.ts';
import { createField } from '../collector/fields/fields.ts';
import type { RowStatus } from '../collector/joined-row.ts';
import type { TrialColumn } from '../run/trial.ts';
import type { ColumnChoice, FieldNode, Preview, PreviewColumn } from '../web/app/contract.ts';
import { textOfValue } from './connection.ts';

/** A row of a list, and the answer about it. */
export interface SampledAnswer {
  readonly domain: string;
  /** Its own cells. */
  readonly cells: readonly string[];
  readonly status: RowStatus;
  readonly message: string;
  readonly answer: JsonObject | undefined;
  /** The columns that the answer makes when nobody chooses any. */
  readonly columns: readonly TrialColumn[];
}

const MOST_NODES = 400;
const MOST_DEPTH = 6;
/** Of a list, so many elements are shown. */
const MOST_ELEMENTS = 3;

/** All places in some answers, as a tree. Of a list, the first elements. */
export function treeOf(answers: readonly Pick<SampledAnswer, 'answer'>[]): readonly FieldNode[] {
  let nodes = 0;

  function childrenOf(values: readonly unknown[], way: Way): readonly FieldNode[] {
    if (way.depth >= MOST_DEPTH) return [];
    const objects = values.filter(isJsonObject);
    if (objects.length > 0) {
      const keys = [...new Set(objects.flatMap((value) => Object.keys(value)))];
      return keys.flatMap((key) =>
        nodeOf(
          values.map((value) => (isJsonObject(value) ? ownOf(value, key) : undefined)),
          {
            label: key,
            expression:
              way.expression === ''
                ? expressionOf([key])
                : `${way.expression}.${expressionOf([key])}`,
            name: way.name === '' ? key : `${way.name}_${key}`,
            depth: way.depth + 1,
          },
        ),
      );
    }
    const lists = values.filter((value) => Array.isArray(value));
    const longest = Math.min(MOST_ELEMENTS, Math.max(0, ...lists.map(({ length }) => length)));
    return Array.from({ length: longest }, (_, at) => at).flatMap((at) =>
      nodeOf(
        values.map((value) => (Array.isArray(value) ? (value[at] as unknown) : undefined)),
        {
          label: String(at + 1),
          expression: `${way.expression}[${at}]`,
          name: `${way.name}_${at + 1}`,
          depth: way.depth + 1,
        },
      ),
    );
  }

  function nodeOf(values: readonly unknown[], way: Way & { readonly label: string }): FieldNode[] {
    nodes += 1;
    if (nodes > MOST_NODES) return [];
    const { label, expression, name } = way;
    const children = childrenOf(values, way);
    const kind = values.some(isJsonObject)
      ? 'object'
      : values.some((value) => Array.isArray(value))
        ? 'list'
        : 'value';
    return [{ label, expression, name, kind, examples: values.map(textOfValue), children }];
  }

  return childrenOf(
    answers.map(({ answer }) => answer),
    { expression: '', name: '', depth: 0 },
  );
}

interface Way {
  readonly expression: string;
  readonly name: string;
  readonly depth: number;
}

function ownOf(value: JsonObject, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The rows of some answers as they will be in the result. */
export function previewOf(
  own: readonly string[],
  answers: readonly SampledAnswer[],
  { fields, fills }: ColumnChoice,
): Preview {
  const filling = new Map(
    fills.map(({ column, expression }) => [column, createField(column, expression)]),
  );
  const chosen = fields?.map(({ name, expression }) => createField(name, expression));
  const known = [...new Set(answers.flatMap(({ columns }) => columns.map(({ name }) => name)))];
  const added: readonly PreviewColumn[] = (chosen?.map(({ name }) => `brand_${name}`) ?? known).map(
    (name) => ({ name, kind: 'added' }),
  );
  const columns: readonly PreviewColumn[] = [
    ...own.map((name) => ({ name, kind: filling.has(name) ? 'filled' : 'own' }) as const),
    ...added,
  ];
  const rows = answers.map(({ cells, answer, columns: made }) => [
    ...own.map((name, at) => {
      const cell = cells[at] ?? '';
      const field = filling.get(name);
      if (cell.trim() !== '' || !field || !answer) return cell;
      return textOfValue(field.valueOf(answer));
    }),
    ...(chosen?.map((field) => (answer ? textOfValue(field.valueOf(answer)) : '')) ??
      known.map((name) => textOfValue(made.find((column) => column.name === name)?.value))),
  ]);
  return { columns, rows };
}
