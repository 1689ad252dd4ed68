import { signal } from '@preact/signals';
import type { ChosenField, ColumnChoice, FieldNode, Samples } from '../app/contract.ts';

// What was chosen of the answers. The decisions are pure, so that they can be tested without a page.

/** Answers that were paid for, by list: going back to a step does not ask for them again. */
export const samplesOf = signal<ReadonlyMap<string, Samples>>(new Map());

/** All places of answers that have a value of their own, in their order. */
export function leavesOf(tree: readonly FieldNode[]): readonly FieldNode[] {
  return tree.flatMap((node) => [
    ...(node.kind === 'value' || node.children.length === 0 ? [node] : []),
    ...leavesOf(node.children),
  ]);
}

/** What to begin with when somebody wants to choose: what answers say at their first level. */
export function firstFields(tree: readonly FieldNode[]): readonly ChosenField[] {
  // The domain has a column of its own in every result.
  const values = tree.filter(({ kind, name }) => kind === 'value' && name !== 'domain');
  return (values.length > 0 ? values : leavesOf(tree)).map(fieldOf);
}

function fieldOf({ name, expression }: FieldNode): ChosenField {
  return { name, expression };
}

/** Adds a place at the end, or takes it out. */
export function toggled(
  fields: readonly ChosenField[],
  node: FieldNode,
  isWanted: boolean,
): readonly ChosenField[] {
  const others = fields.filter(({ expression }) => expression !== node.expression);
  return isWanted ? [...others, fieldOf(node)] : others;
}

/** Moves a field to another position; those between make room. */
export function moved(
  fields: readonly ChosenField[],
  from: number,
  to: number,
): readonly ChosenField[] {
  const field = fields[from];
  if (!field || to < 0 || to >= fields.length) return fields;
  const others = fields.filter((_, at) => at !== from);
  return [...others.slice(0, to), field, ...others.slice(to)];
}

/** What is wrong with the name of a chosen field, if something is. */
export function faultOfName(fields: readonly ChosenField[], at: number): string | undefined {
  const name = fields[at]?.name.trim() ?? '';
  if (name === '') return 'Every column needs a name.';
  const isDouble = fields.some((field, other) => other !== at && field.name.trim() === name);
  return isDouble ? 'Another column has this name.' : undefined;
}

/** Whether a choice can be used as it is. */
export function isUsable({ fields, fills }: ColumnChoice): boolean {
  if (fields === null) return true;
  if (fields.length === 0) return fills.length > 0;
  return fields.every((_, at) => faultOfName(fields, at) === undefined);
}

/** Nodes whose label, name or value holds a text, with what leads to them. */
export function searched(tree: readonly FieldNode[], text: string): readonly FieldNode[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === '') return tree;
  return tree.flatMap((node) => {
    const own = [node.label, node.name, ...node.examples];
    if (own.some((part) => part.toLowerCase().includes(wanted))) return [node];
    const children = searched(node.children, text);
    return children.length > 0 ? [{ ...node, children }] : [];
  });
}
