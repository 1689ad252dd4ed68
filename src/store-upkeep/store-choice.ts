/** Which store is meant, and which of the APIs in it. */
export interface StoreChoice {
  /** The folder of the store. @default BRANDFILL_STORE, else `.brandfill` */
  readonly store?: string | undefined;
  /** Only what is from this API. @default all in the store */
  readonly baseUrl?: string | undefined;
  /** With `baseUrl`: query parameters that go with every call. */
  readonly params?: Readonly<Record<string, string>> | undefined;
}

/** How an option is called in messages; the command line says `--base-url`. */
export type StoreOptionNaming = (key: string) => string;
