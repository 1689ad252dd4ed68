/** A part of a secret that is shorter stands in many words: `key:x` is how some APIs want a key. */
const SHORTEST_PART = 4;

/** Knows a secret in every form in which a server may give it back, the longest first. */
export function createRedactor(secret: string | undefined): (text: string) => string {
  if (!secret) return (text) => text;
  const [user = '', password = ''] = basicPair(secret).split(/:(.*)/s);
  const plain = [secret, password.length < SHORTEST_PART ? user : password];
  const forms = plain.flatMap((form) => [
    form,
    encodeURIComponent(form),
    encodeURIComponent(encodeURIComponent(form)), // in a link that was made of a link
    encodeURIComponent(form).replaceAll(/%../g, (hex) => hex.toLowerCase()),
    JSON.stringify(form).slice(1, -1),
    base64(form),
    base64(basicPair(form)),
  ]);
  const longestFirst = [...new Set(forms)]
    .filter((form) => form !== '')
    .sort((a, b) => b.length - a.length);
  // One pass: what is put in the place of one form is not searched for the next.
  const anyForm = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'g');
  return (text) => text.replaceAll(anyForm, '[redacted]');
}

function escapeRegExp(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

/** `user:password`, as basic authentication has it; without a colon, the secret is the user. */
export function basicPair(secret: string): string {
  return secret.includes(':') ? secret : `${secret}:`;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
