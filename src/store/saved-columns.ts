import type { Shape } from '../brand/shape.ts';

/** A column that an output had. */
export interface SavedColumn {
  /** Its name, without the prefix and without the suffix that it got beside an equal name. */
  readonly name: string;
  /** The way to its value in an answer; undefined for a column that is made in another way. */
  readonly path?: readonly string[] | undefined;
}

/** The columns of the last output of a list, in their order. */
interface SavedLayout {
  readonly columns: readonly SavedColumn[];
  /** Milliseconds since 1970. */
  readonly savedAtMs: number;
}

/** What is needed of the store's table of such things. */
interface MetaTable {
  get(key: string): unknown;
  put(key: string, value: unknown): Promise<boolean>;
  remove(key: string): Promise<boolean>;
  getKeys(range: { readonly start: string; readonly end: string }): Iterable<string>;
}

/** Layouts of more outputs than this are not kept; the oldest goes first. */
const MOST_LAYOUTS = 500;

/** @param id identifies the output from night to night; at most some hundred bytes */
function keyOf(endpointId: string, id: string): string {
  return `${prefixOf(endpointId)}${id}`;
}

function prefixOf(endpointId: string | undefined): string {
  return endpointId === undefined ? 'columns:' : `columns:${endpointId}:`;
}

/** The columns that were saved under an id; undefined when there are none, or they are malformed. */
export function findSavedColumns(
  meta: MetaTable,
  endpointId: string,
  id: string,
): readonly SavedColumn[] | undefined {
  return read(meta, keyOf(endpointId, id))?.columns;
}

/** Saves columns under several ids, and drops the oldest when there are too many. */
export async function saveColumns(
  meta: MetaTable,
  endpointId: string,
  { ids, columns, savedAtMs }: SavedLayout & { readonly ids: readonly string[] },
): Promise<void> {
  const layout: SavedLayout = { columns, savedAtMs };
  const puts = ids.map((id) => meta.put(keyOf(endpointId, id), layout));
  const saved = layoutsIn(meta, undefined);
  const tooMany = saved
    .sort((one, other) => one.savedAtMs - other.savedAtMs)
    .slice(0, Math.max(0, saved.length - MOST_LAYOUTS));
  await Promise.all([...puts, ...tooMany.map(({ key }) => meta.remove(key))]);
}

/** Removes layouts of outputs that were last written before a time. */
export async function pruneSavedColumns(
  meta: MetaTable,
  endpointId: string | undefined,
  isOld: (savedAtMs: number) => boolean,
): Promise<void> {
  const old = layoutsIn(meta, endpointId).filter(({ savedAtMs }) => isOld(savedAtMs));
  await Promise.all(old.map(({ key }) => meta.remove(key)));
}

/** Removes the columns that no answer has, whose names may be data, from all layouts of an API. */
export async function forgetSavedColumns(
  meta: MetaTable,
  endpointId: string,
  shapes: Iterable<Shape>,
): Promise<void> {
  const layouts = layoutsIn(meta, endpointId).flatMap(({ key }) => {
    const layout = read(meta, key);
    return layout ? [{ key, layout }] : [];
  });
  const idOf = (path: readonly string[]): string => JSON.stringify(path);
  const unmet = new Set<string>();
  for (const { layout } of layouts) {
    for (const { path } of layout.columns) if (path) unmet.add(idOf(path));
  }
  for (const shape of shapes) {
    if (unmet.size === 0) return;
    for (const path of shape) unmet.delete(idOf(path));
  }
  const isMet = ({ path }: SavedColumn): boolean => path === undefined || !unmet.has(idOf(path));
  const cut = layouts.filter(({ layout }) => !layout.columns.every(isMet));
  await Promise.all(
    cut.map(({ key, layout }) =>
      meta.put(key, { ...layout, columns: layout.columns.filter(isMet) }),
    ),
  );
}

function layoutsIn(
  meta: MetaTable,
  endpointId: string | undefined,
): { key: string; savedAtMs: number }[] {
  const start = prefixOf(endpointId);
  const keys = [...meta.getKeys({ start, end: `${start.slice(0, -1)};` })];
  return keys.map((key) => ({ key, savedAtMs: read(meta, key)?.savedAtMs ?? 0 }));
}

function read(meta: MetaTable, key: string): SavedLayout | undefined {
  try {
    const saved = meta.get(key);
    return isLayout(saved) ? saved : undefined;
  } catch {
    return undefined; // invalid JSON: the columns are then ordered anew
  }
}

function isLayout(saved: unknown): saved is SavedLayout {
  const { columns, savedAtMs } = (saved ?? {}) as Partial<Record<keyof SavedLayout, unknown>>;
  return Array.isArray(columns) && columns.every(isColumn) && typeof savedAtMs === 'number';
}

function isColumn(saved: unknown): saved is SavedColumn {
  const { name, path } = (saved ?? {}) as Partial<Record<keyof SavedColumn, unknown>>;
  const isPath = Array.isArray(path) && path.length > 0;
  return (
    typeof name === 'string' &&
    (path === undefined || (isPath && path.every((step) => typeof step === 'string')))
  );
}
