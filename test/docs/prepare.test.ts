import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { useTempFolder } from '../support/temp-folder.ts';

const MANIFEST = join(import.meta.dirname, '../../package.json');

it('npx in a clone builds what is not built, and nothing that is: two at once would take it from each other', () => {
  const folder = useTempFolder();
  const at = (path: string): string => join(folder, path);
  const { scripts } = JSON.parse(readFileSync(MANIFEST, 'utf8')) as {
    scripts: { prepare: string };
  };
  const build = `node -e "fs.appendFileSync('builds.txt','x');fs.mkdirSync('dist',{recursive:true});fs.writeFileSync('dist/brandfill.js','')"`;
  mkdirSync(at('src/run'), { recursive: true });
  writeFileSync(
    at('package.json'),
    JSON.stringify({ scripts: { prepare: scripts.prepare, build } }),
  );
  for (const path of ['rolldown.config.ts', 'src/index.ts', 'src/run/enrich.ts']) {
    writeFileSync(at(path), '');
  }
  const builds = (): number => {
    execFileSync('npm', ['run', '--silent', 'prepare'], { cwd: folder });
    return existsSync(at('builds.txt')) ? readFileSync(at('builds.txt'), 'utf8').length : 0;
  };
  expect(builds()).toBe(1);
  expect(builds()).toBe(1);
  appendFileSync(at('src/run/enrich.ts'), '// changed');
  const later = new Date(Date.now() + 5_000);
  utimesSync(at('src/run/enrich.ts'), later, later);
  expect(builds()).toBe(2);
  rmSync(at('dist'), { recursive: true });
  expect(builds()).toBe(3);
});
