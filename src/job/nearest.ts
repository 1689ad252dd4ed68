import { distance } from 'fastest-levenshtein';

/**
 * Finds the known word that was probably meant. It is few letters away (a third of them at most),
 * or one of the two is the beginning of the other. Case, dashes and underscores do not count.
 */
export function findNearest(word: string, known: readonly string[]): string | undefined {
  const plain = simplify(word);
  const ranked = known
    .map((candidate) => ({ candidate, away: distance(plain, simplify(candidate)) }))
    .sort((a, b) => a.away - b.away);
  const [nearest] = ranked;
  if (nearest && nearest.away <= Math.max(1, Math.floor(plain.length / 3))) {
    return nearest.candidate;
  }
  return ranked.find(({ candidate }) => isBeginning(plain, simplify(candidate)))?.candidate;
}

function isBeginning(one: string, other: string): boolean {
  return (
    Math.min(one.length, other.length) >= 3 && (one.startsWith(other) || other.startsWith(one))
  );
}

function simplify(word: string): string {
  return word.toLowerCase().replaceAll(/[-_\s]/g, '');
}
