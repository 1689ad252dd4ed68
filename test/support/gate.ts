/** Something a test waits for, or makes others wait for. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

/** Makes a gate that is closed. */
export function createGate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
