import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('the image is built of nothing that .dockerignore leaves out', () => {
  const lines = readFileSync('.dockerignore', 'utf8').split('\n');
  const kept = new Set(lines.flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : [])));
  const copied = readFileSync('Dockerfile', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('COPY ') && !line.includes('--from='))
    .flatMap((line) => line.split(' ').slice(1, -1));
  expect(copied.length).toBeGreaterThan(5);
  expect(copied.filter((path) => !kept.has(path))).toEqual([]);
});
