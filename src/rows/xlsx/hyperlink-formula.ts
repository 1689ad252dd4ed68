const HYPERLINK = /^\s*HYPERLINK\(\s*"((?:[^"]|"")+)"\s*(?:\)|[,;]\s*(?:"((?:[^"]|"")+)"\s*\))?)/i;

/** The target of a formula such as `HYPERLINK("https://acme.com","Acme")`, and its visible text. */
export function readHyperlink(formula: string): { target: string; text: string } | undefined {
  const found = HYPERLINK.exec(formula);
  const [target, text = target] = [found?.[1], found?.[2]].map((part) =>
    part?.replaceAll('""', '"'),
  );
  return target === undefined || text === undefined ? undefined : { target, text };
}
