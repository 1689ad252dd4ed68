import { describe, expect, it, vi } from 'vitest';
import { createShapeRegistry, type ShapeTable } from '../../src/store/shapes.ts';

function createTable(kept = new Map<number, string>()): ShapeTable & { kept: Map<number, string> } {
  return { kept, get: (id) => kept.get(id), put: (id, json) => void kept.set(id, json) };
}

describe('shapes', () => {
  it('are found again by their number', () => {
    const registry = createShapeRegistry(createTable());
    const shape = [['name'], ['links', 'a.b'], ['']];
    const id = registry.idOf(shape);
    expect(registry.find(id)).toEqual(shape);
    expect(registry.find(id + 1)).toBeUndefined();
  });

  it('have a number that fits into six bytes and is never 0', () => {
    const registry = createShapeRegistry(createTable());
    for (let width = 0; width < 100; width += 1) {
      const id = registry.idOf(Array.from({ length: width }, (_, index) => [`${index}`]));
      expect(Number.isInteger(id) && id > 0 && id < 2 ** 48).toBe(true);
    }
  });

  it('have the same number for every process', () => {
    const [one, two] = [createShapeRegistry(createTable()), createShapeRegistry(createTable())];
    two.idOf([['other']]);
    expect(two.idOf([['name'], ['city']])).toBe(one.idOf([['name'], ['city']]));
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
    expect(registry.idOf([['name']])).toBe(id + 1);
    expect(registry.find(id)).toEqual([['taken']]);
    expect(registry.find(id + 1)).toEqual([['name']]);
    expect(createShapeRegistry(table).idOf([['name']])).toBe(id + 1);
  });

  it('are written once and read once', () => {
    const table = createTable();
    const [put, get] = [vi.spyOn(table, 'put'), vi.spyOn(table, 'get')];
    const registry = createShapeRegistry(table);
    const id = registry.idOf([['name']]);
    get.mockClear();
    for (let time = 0; time < 5; time += 1) {
      registry.idOf([['name']]);
      registry.find(id);
    }
    expect([put.mock.calls.length, get.mock.calls.length]).toEqual([1, 1]);
  });

  it('keep their numbers when there are more than fit into memory', () => {
    const registry = createShapeRegistry(createTable());
    const first = registry.idOf([['0']]);
    for (let shape = 1; shape < 10_100; shape += 1) registry.find(registry.idOf([[`${shape}`]]));
    expect(registry.idOf([['0']])).toBe(first);
    expect(registry.find(first)).toEqual([['0']]);
  });
});
