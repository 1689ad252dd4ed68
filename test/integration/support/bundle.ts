import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type RolldownOptions } from 'rolldown';
import shipped, { OUTPUT } from '../../../rolldown.config.ts';

/** What stays what npm installed: it is native, has files of its own, or may be missing. */
const EXTERNAL = [/^lmdb/, 'jsonc-parser'];

/** As the package has it, but with the packages that it depends on. */
const PACKED: RolldownOptions = {
  ...shipped,
  external: EXTERNAL,
  plugins: [
    shipped.plugins,
    {
      name: 'how long a process may be silent is told by tests',
      resolveId: {
        filter: { id: /\/lock-time\.ts$/ },
        handler: () => join(import.meta.dirname, 'lock-time.ts'),
      },
    },
    {
      name: 'packages find what lies beside their files',
      transform: {
        filter: { id: /node_modules/, code: 'import.meta.url' },
        handler: (code, id) => ({
          code: code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
          map: null,
        }),
      },
    },
  ],
};

/**
 * Bundles the sources as the package has them, into `dist`, and with all packages, into `packed`.
 */
export async function bundleInto(folder: string): Promise<void> {
  for (const [name, config] of Object.entries({ dist: shipped, packed: PACKED })) {
    await build({ ...config, output: { ...OUTPUT, dir: join(folder, name) } });
  }
}
