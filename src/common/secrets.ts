import { createRedactor, type Redactor, toRedactedJson } from './redactor.ts';

/** Secrets that must not appear in any text. */
export interface Secrets {
  /** Registers a secret. */
  keep(secret: string | undefined): void;
  /** A text without any of the secrets, in any form. */
  without(text: string): string;
  /** Whether a text is one of the secrets. */
  has(text: string): boolean;
  /** Forgets all. */
  clear(): void;
}

/**
 * @param most the most secrets that are known at a time. Past this many, the one that was registered
 *   longest ago is dropped: a service that renews its credential each hour would search every text
 *   for all that it ever had.
 */
export function createSecrets(most: number): Secrets {
  /** By secret, so that each is replaced once. The latest is the last. */
  const redactors = new Map<string, Redactor>();
  return {
    keep: (secret) => {
      if (!secret) return;
      const redact = redactors.get(secret) ?? createRedactor([secret]);
      redactors.delete(secret);
      redactors.set(secret, redact);
      const [oldest = ''] = redactors.keys();
      if (redactors.size > most) redactors.delete(oldest);
    },
    without: (text) => {
      let clean = text;
      for (const redactor of redactors.values()) clean = redactor.text(clean);
      return clean;
    },
    has: (text) => redactors.has(text),
    clear: () => redactors.clear(),
  };
}

/** The secrets of this process. */
export const SECRETS: Secrets = createSecrets(1_000);

/** Registers a secret of this process. All texts it outputs from now on are without it. */
export function keepSecret(secret: string | undefined): void {
  SECRETS.keep(secret);
}

/** A text without any secret that was given to this process, in any form. */
export function withoutSecrets(text: string): string {
  return SECRETS.without(text);
}

/** JSON of a value with secrets removed from its texts. Numbers and keys stay the same. */
export function toCleanJson(value: unknown): string {
  return toRedactedJson(value, withoutSecrets);
}

/** Variables that hold a credential of this process, in whichever job file they are named. */
const CREDENTIAL_NAMES = new Set([
  'BRANDFILL_API_KEY',
  'BRANDFILL_QUEUE',
  'BRANDFILL_DASHBOARD_TOKEN',
]);

/** Registers the name of a variable that holds a credential. */
export function keepCredentialName(name: string): void {
  CREDENTIAL_NAMES.add(name);
}

/** A shorter value may be a credential by chance, such as that of `NODE_ENV=test`. */
const SHORTEST_VALUE = 8;
const URL_START = /^[\w.+-]+:\/\//;

/**
 * What a command inherits that is none of ours: all variables but those that are named for a
 * credential, whose value is one, or whose value is a URL with one.
 */
export function withoutCredentials(
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string | undefined> {
  const isCredential = (value: string): boolean =>
    (value.length >= SHORTEST_VALUE && SECRETS.has(value)) ||
    (URL_START.test(value) && withoutSecrets(value) !== value);
  return Object.fromEntries(
    Object.entries(env).filter(
      ([name, value = '']) => !CREDENTIAL_NAMES.has(name) && !isCredential(value.trim()),
    ),
  );
}
