import type { Owner } from '../../common/owner.ts';

/** The first line of a file of claims: its run, and the API of that run. */
export interface ClaimHead {
  readonly owner: Owner;
  readonly endpointId: string;
  /** The run's name on a queue, where workers go on with its lookups after it is lost. */
  readonly runId?: string | undefined;
}

/** The mark of a line that withdraws a claim. No domain begins with it. */
export const WITHDRAWN = '!';

/** The head as the first line of a file. */
export function beginWith(head: ClaimHead): string {
  return `${JSON.stringify(head)}\n`;
}

/** One line of text for each domain. */
export function linesOf(domains: Iterable<string>, mark = ''): string {
  let text = '';
  for (const domain of domains) text += `${mark}${domain}\n`;
  return text;
}

/** @returns undefined when it is not the first line of such a file */
export function readHead(line: string): ClaimHead | undefined {
  try {
    const { owner, endpointId, runId } = JSON.parse(line) as Partial<ClaimHead>;
    const isWhole = typeof owner?.token === 'string' && typeof endpointId === 'string';
    return isWhole ? { owner, endpointId, runId } : undefined;
  } catch {
    return undefined;
  }
}

/** Applies lines to the set of claimed domains. */
export function applyLines(claimed: Set<string>, lines: readonly string[]): void {
  for (const line of lines) {
    if (line.startsWith(WITHDRAWN)) claimed.delete(line.slice(WITHDRAWN.length));
    else claimed.add(line);
  }
}
