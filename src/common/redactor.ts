/** A shorter part of a secret occurs in many words. Some APIs want a key as `key:x`. */
const SHORTEST_PART = 4;

/** Replaces a secret in every form in which a server may return it, the longest first. */
export function createRedactor(secret: string | undefined): (text: string) => string {
  if (!secret) return (text) => text;
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  const plain = [secret, password.length < SHORTEST_PART ? user : password];
  const forms = plain.flatMap((form) => [
    form,
    encodeURIComponent(form),
    encodeURIComponent(encodeURIComponent(form)), // for a link within a link
    encodeURIComponent(form).replaceAll(/%../g, (hex) => hex.toLowerCase()),
    JSON.stringify(form).slice(1, -1),
    base64(form),
    base64(basicPair(form)),
  ]);
  const longestFirst = [...new Set(forms)]
    .filter((form) => form !== '')
    .sort((a, b) => b.length - a.length);
  // In one pass, so that the replacement of one form is not searched for the next.
  const anyForm = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  return (text) => text.replaceAll(anyForm, '[redacted]');
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** `user:password`, as for basic authentication. A secret without a colon is the user. */
export function basicPair(secret: string): string {
  return secret.includes(':') ? secret : `${secret}:`;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
