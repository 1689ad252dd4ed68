import { toRedactedJson } from './redact-deep.ts';
import { createRedactor } from './redactor.ts';

/** By the secret, so that each is searched for once. */
const REDACTORS = new Map<string, (text: string) => string>();

/** Remembers a secret that this process was given. Whatever it tells from now on is without it. */
export function keepSecret(secret: string | undefined): void {
  if (secret) REDACTORS.set(secret, createRedactor(secret));
}

/** A text without any secret that this process was given, in whatever form. */
export function withoutSecrets(text: string): string {
  let clean = text;
  for (const redact of REDACTORS.values()) clean = redact(clean);
  return clean;
}

/** JSON of a value whose texts are without secrets; numbers and the names of keys stay what they are. */
export function toCleanJson(value: unknown): string {
  return toRedactedJson(value, withoutSecrets);
}
