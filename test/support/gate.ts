/** Makes a gate that is closed: something a test waits for, or makes others wait for. */
export function createGate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
