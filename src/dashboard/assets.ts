import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the page. */
export interface Asset {
  readonly type: string;
  readonly body: string;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** Files beside this one, served as they are in the sources. */
const OWN = [
  'index.html',
  'style.css',
  'icon.svg',
  'main.js',
  'backfills.js',
  'chart.js',
  'dom.js',
  'format.js',
  'run-card.css',
  'run-card.js',
  'tables.css',
  'tables.js',
];

/** The path of each file and its place on the disk; nothing is loaded from elsewhere. */
const FILES: ReadonlyMap<string, string> = new Map([
  ...OWN.map(
    (name) => [`/${name}`, fileURLToPath(new URL(`page/${name}`, import.meta.url))] as const,
  ),
  ['/uplot.js', createRequire(import.meta.url).resolve('uplot/dist/uPlot.esm.js')],
  ['/uplot.css', createRequire(import.meta.url).resolve('uplot/dist/uPlot.min.css')],
]);

/** Reads all files of the page; there are few, and they are small. */
export async function readAssets(): Promise<ReadonlyMap<string, Asset>> {
  const read = async ([path, file]: readonly [string, string]): Promise<[string, Asset]> => {
    const type = TYPES[extname(file)] ?? 'application/octet-stream';
    return [path, { type, body: await readFile(file, 'utf8') }];
  };
  return new Map(await Promise.all([...FILES].map(read)));
}
