import type { STORE_OPTIONS } from '../options/command-options.ts';
import type { OptionsOf } from '../options/options.ts';

/** Selects a store, and one of the APIs in it. */
export interface StoreChoice extends OptionsOf<typeof STORE_OPTIONS> {}

/** The name of an option in messages. The command line uses `--base-url`. */
export type StoreOptionNaming = (key: string) => string;
