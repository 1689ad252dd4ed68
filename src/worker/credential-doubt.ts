/**
 * Tells a 403 about one domain from a credential that is not allowed anything. A `forbidden` answer
 * is held back until a success shows that the credential works, or until so many have come in a row
 * that it does not; those are then not kept, and are asked again once the credential is mended.
 */
export interface CredentialDoubt {
  /** Resolves with whether the answer is about the domain. */
  forbidden(): Promise<boolean>;
  /** An answer came that only a working credential gets. */
  success(): void;
  /** Nothing is under way that could still settle the doubt: the benefit of it goes to the credential. */
  idle(): void;
}

const MOST_IN_A_ROW = 5;

/** @param onDenied called once, when the credential is taken to be refused */
export function createCredentialDoubt(onDenied: () => void): CredentialDoubt {
  let held: ((isAboutDomain: boolean) => void)[] = [];
  let isDenied = false;

  function release(isAboutDomain: boolean): void {
    const released = held;
    held = [];
    for (const resolve of released) resolve(isAboutDomain);
  }

  return {
    forbidden: () =>
      new Promise((resolve) => {
        held.push(resolve);
        if (!isDenied && held.length >= MOST_IN_A_ROW) {
          isDenied = true;
          onDenied();
        }
        if (isDenied) release(false);
      }),
    success: () => release(true),
    idle: () => release(true),
  };
}
