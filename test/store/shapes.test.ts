import { describe, expect, it } from 'vitest';
import type { Shape } from '../../src/brand/shape.ts';
import {
  createShapeRegistry,
  MOST_SHAPES,
  type ShapeRegistry,
  type ShapeTable,
  UNSHAPED,
} from '../../src/store/shapes.ts';

interface Table extends ShapeTable {
  readonly kept: Map<number, string>;
  pretended: { readonly shapes: number; readonly sizeBytes: number };
}

function createTable(): Table {
  const kept = new Map<number, string>();
  const table: Table = {
    kept,
    pretended: { shapes: 0, sizeBytes: 0 },
    get: (id) => kept.get(id),
    put: (id, json) => void kept.set(id, json),
    size: () => table.pretended,
  };
  return table;
}

/** Stores a shape, as along with an answer. */
function store(registry: ShapeRegistry, shape: Shape | undefined): number {
  const id = registry.idOf(shape);
  registry.keep(id, shape);
  return id;
}

describe('shapes', () => {
  it('are found again by their number', () => {
    const registry = createShapeRegistry(createTable());
    const shape = [['name'], ['links', 'a.b'], ['']];
    const id = store(registry, shape);
    expect(registry.find(id)).toEqual(shape);
    expect(registry.find(id + 1)).toBeUndefined();
  });

  it('differ by order, depth and dots', () => {
    const registry = createShapeRegistry(createTable());
    const shapes = [
      [['a'], ['b']],
      [['b'], ['a']],
      [['a', 'b']],
      [['a.b']],
      [['a,b']],
      [['a"],["b']],
      [['a']],
    ];
    expect(new Set(shapes.map((shape) => registry.idOf(shape))).size).toBe(shapes.length);
  });

  it('pass over a number that another shape has', () => {
    const table = createTable();
    const id = createShapeRegistry(createTable()).idOf([['name']]);
    table.kept.set(id, '[["taken"]]');
    const registry = createShapeRegistry(table);
    expect(store(registry, [['name']])).toBe(id + 1);
    expect(registry.find(id)).toEqual([['taken']]);
    expect(registry.find(id + 1)).toEqual([['name']]);
    expect(createShapeRegistry(table).idOf([['name']])).toBe(id + 1);
  });

  it('are stored again with the next answer when they were removed', () => {
    const table = createTable();
    const registry = createShapeRegistry(table);
    const shape = [['name']];
    const id = store(registry, shape);
    table.kept.clear();
    expect(store(registry, shape)).toBe(id);
    expect(createShapeRegistry(table).find(id)).toEqual(shape);
  });

  it('keep their numbers when there are more than fit into memory', () => {
    const registry = createShapeRegistry(createTable());
    const first = store(registry, [['0']]);
    for (let shape = 1; shape < 10_100; shape += 1) registry.find(store(registry, [[`${shape}`]]));
    expect(registry.idOf([['0']])).toBe(first);
    expect(registry.find(first)).toEqual([['0']]);
  });

  it('are not told apart when there are too many names in one', () => {
    const table = createTable();
    const registry = createShapeRegistry(table);
    expect(store(registry, undefined)).toBe(UNSHAPED);
    expect(registry.find(UNSHAPED)).toBeUndefined();
    expect(table.kept.size).toBe(0);
  });

  it.each([
    { shapes: MOST_SHAPES, sizeBytes: 0 },
    { shapes: 90, sizeBytes: 200_000_000 },
  ])('are not added to when there are $shapes in $sizeBytes bytes', (full) => {
    const table = createTable();
    const registry = createShapeRegistry(table);
    const known = store(registry, [['known']]);
    table.pretended = full;
    expect(registry.isFull()).toBe(true);
    expect(store(registry, [['new']])).toBe(UNSHAPED);
    expect(store(registry, [['known']])).toBe(known);
    table.pretended = { shapes: 1, sizeBytes: 0 };
    expect(registry.find(store(registry, [['new']]))).toEqual([['new']]);
  });

  it('of older versions that are too large are as if they were not there', () => {
    const table = createTable();
    table.kept.set(7, JSON.stringify(Array.from({ length: 100_000 }, (_, at) => [`key ${at}`])));
    table.kept.set(8, JSON.stringify(Array.from({ length: 2_001 }, (_, at) => [`${at}`])));
    table.kept.set(9, JSON.stringify(Array.from({ length: 2_000 }, (_, at) => [`${at}`])));
    const registry = createShapeRegistry(table);
    expect([7, 8, 9].map((id) => registry.find(id)?.length)).toEqual([undefined, undefined, 2_000]);
  });
});
