import { join } from 'node:path';
import { inject } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder that `findOrMakeBuild` in build-setup.ts gives. */
    readonly build: string;
  }
}

/** The path of the command's main file, in a build that starts quickly. */
export function builtCommand(): string {
  return join(inject('build'), 'packed', 'brandfill.js');
}

/** The folder of the same build as the package has it: what `npm run build` makes. */
export function shippedFolder(): string {
  return join(inject('build'), 'dist');
}
