/** Selects a store, and one of the APIs in it. */
export interface StoreChoice {
  /** The folder of the store. @default BRANDFILL_STORE, else `.brandfill` */
  readonly store?: string | undefined;
  /** Only outcomes of this API. @default all APIs in the store */
  readonly baseUrl?: string | undefined;
  /** With `baseUrl`: the query parameters that are sent with every call. */
  readonly params?: Readonly<Record<string, string>> | undefined;
}

/** The name of an option in messages. The command line uses `--base-url`. */
export type StoreOptionNaming = (key: string) => string;
