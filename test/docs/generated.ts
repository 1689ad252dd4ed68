// What a page or a schema has to say by the code. `npx vitest run test/docs -u` writes what
// differs.

/** A page with these parts in their places, each between comments of its name. */
export function withParts(page: string, parts: Readonly<Record<string, string>>): string {
  return Object.entries(parts).reduce((text, [name, part]) => {
    const place = new RegExp(`(<!-- ${name} -->\\n).*(<!-- /${name} -->)`, 's');
    return text.replace(place, (_, start, end) => `${start}${part}\n${end}`);
  }, page);
}

/** A value as a file of JSON has it. */
export function jsonOf(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
