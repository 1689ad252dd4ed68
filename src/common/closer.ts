/** Something that has to be closed. */
export interface Closable {
  close(): Promise<void>;
}

/**
 * Closes what was opened, last first, in any case. If one resource cannot be closed, the others are
 * closed nevertheless. The first error is thrown at the end.
 */
export interface Closer extends Closable {
  /** Registers a resource and returns it. */
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
