import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page } from 'playwright-core';

/** What axe finds in a page; the page must have been opened with `bypassCSP`. */
export async function findFaults(page: Page): Promise<readonly string[]> {
  const source = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
  await page.evaluate(await readFile(source, 'utf8'));
  const { violations } = await page.evaluate<AxeResults, RunOptions>(
    (options) =>
      (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run(
        options,
      ),
    { resultTypes: ['violations'] },
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`);
}

/** How many pixels of a page are beyond its right edge. */
export async function overflowOf(page: Page): Promise<number> {
  return await page.evaluate(() => {
    const { scrollWidth, clientWidth } = (
      globalThis as unknown as { document: { documentElement: Widths } }
    ).document.documentElement;
    return scrollWidth - clientWidth;
  });
}

interface Widths {
  readonly scrollWidth: number;
  readonly clientWidth: number;
}
