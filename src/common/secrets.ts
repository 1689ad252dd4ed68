import { toRedactedJson } from './redact-deep.ts';
import { createRedactor } from './redactor.ts';

/** Redactors by secret, so that each secret is replaced once. */
const REDACTORS = new Map<string, (text: string) => string>();

/** Registers a secret of this process. All texts it outputs from now on are without it. */
export function keepSecret(secret: string | undefined): void {
  if (secret) REDACTORS.set(secret, createRedactor(secret));
}

/** A text without any secret that was given to this process, in any form. */
export function withoutSecrets(text: string): string {
  let clean = text;
  for (const redact of REDACTORS.values()) clean = redact(clean);
  return clean;
}

/** JSON of a value with secrets removed from its texts. Numbers and keys stay the same. */
export function toCleanJson(value: unknown): string {
  return toRedactedJson(value, withoutSecrets);
}
