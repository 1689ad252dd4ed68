import { type EnrichOptions, enrich, type RunView } from '../../../src/index.ts';
import type { Folder } from './folder.ts';

/** What a run in this process left behind. */
export interface Enriched {
  readonly summary: RunView;
  readonly out: string;
  readonly failures: string;
}

/**
 * Enriches a list of a folder in this process, with the store in the same folder, `.brandfill`
 * unless given.
 */
export async function enrichIn(
  folder: Folder,
  options: Omit<EnrichOptions, 'input'> & { readonly input: string },
): Promise<Enriched> {
  const summary = await enrich({
    ...options,
    input: folder.at(options.input),
    store: folder.at(options.store ?? '.brandfill'),
    ...(options.out === undefined ? {} : { out: folder.at(options.out) }),
    ...(options.failures === undefined ? {} : { failures: folder.at(options.failures) }),
  });
  return { summary, out: summary.out ?? '', failures: summary.failures ?? '' };
}
