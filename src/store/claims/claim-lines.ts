import type { Owner } from '../../common/owner.ts';

/** Who makes the claims of a file, and at which API: its first line. */
export interface ClaimHead {
  readonly owner: Owner;
  readonly endpointId: string;
  /** Its name on a queue, where workers go on with what it gave out when it is lost. */
  readonly runId?: string | undefined;
}

/** What a line begins with that takes a claim back; no domain begins with it. */
export const WITHDRAWN = '!';

/** The beginning of a file, as text. */
export function beginWith(head: ClaimHead): string {
  return `${JSON.stringify(head)}\n`;
}

/** One line for each domain, as text. */
export function linesOf(domains: Iterable<string>, mark = ''): string {
  let text = '';
  for (const domain of domains) text += `${mark}${domain}\n`;
  return text;
}

/** @returns undefined when it is no beginning of such a file */
export function readHead(line: string): ClaimHead | undefined {
  try {
    const { owner, endpointId, runId } = JSON.parse(line) as Partial<ClaimHead>;
    const isWhole = typeof owner?.token === 'string' && typeof endpointId === 'string';
    return isWhole ? { owner, endpointId, runId } : undefined;
  } catch {
    return undefined;
  }
}

/** Adds what lines say to the domains that are claimed. */
export function applyLines(claimed: Set<string>, lines: readonly string[]): void {
  for (const line of lines) {
    if (line.startsWith(WITHDRAWN)) claimed.delete(line.slice(WITHDRAWN.length));
    else claimed.add(line);
  }
}
