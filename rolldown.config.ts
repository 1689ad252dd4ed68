import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';

/** What the browser gets of the dashboard, as it is; types and settings of the compiler stay behind. */
const PAGE = 'src/web/page';

/**
 * Few files instead of some five hundred: each one that Node has to find and read costs a start of the
 * command about half a millisecond. Packages that we depend on stay what npm installed.
 */
export default defineConfig({
  input: { brandfill: 'src/cli/main.ts', index: 'src/index.ts' },
  platform: 'node',
  external: (id) => !/^[./]/.test(id),
  output: { dir: 'dist', chunkFileNames: '[name]-[hash].js' },
  plugins: [
    {
      name: 'page of the dashboard',
      writeBundle: async ({ dir = 'dist' }) => {
        const isServed = (path: string): boolean => !/\.(d\.ts|json)$/.test(path);
        await cp(PAGE, join(dir, 'page'), { recursive: true, filter: isServed });
      },
    },
  ],
});
