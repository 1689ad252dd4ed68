/** Something that has to be closed. */
export interface Closable {
  close(): Promise<void>;
}

/**
 * Closes what was opened, last first, whatever happened in between. One that cannot be closed keeps
 * none of the others open; the first error is thrown at the end.
 */
export interface Closer extends Closable {
  /** Remembers a resource and gives it back. */
  add<T extends Closable>(resource: T): T;
}

export function createCloser(): Closer {
  const open: Closable[] = [];
  return {
    add: (resource) => {
      open.push(resource);
      return resource;
    },
    close: async () => {
      const errors: unknown[] = [];
      for (let last = open.pop(); last; last = open.pop()) {
        try {
          await last.close();
        } catch (error) {
          errors.push(error);
        }
      }
      if (errors.length > 0) throw errors[0];
    },
  };
}
