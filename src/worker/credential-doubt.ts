/**
 * Tells a 403 about one domain from a credential without any access. A `forbidden` answer is held
 * back until a success shows that the credential works, or until five have come in a row, which
 * shows that it does not. Those answers are then dropped, and their domains are asked again once
 * the credential is fixed.
 */
export interface CredentialDoubt {
  /** Resolves with whether the answer is about the domain. */
  forbidden(): Promise<boolean>;
  /** An answer came that only a working credential gets. */
  success(): void;
  /** No lookup is under way that could settle the doubt. The credential is taken to work. */
  idle(): void;
}

const MOST_IN_A_ROW = 5;

/** @param onDenied called once, when the credential is taken to have no access */
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
