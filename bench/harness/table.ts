import type { Finding } from './measure.ts';

const HEADER = ['measure', 'ours', 'baseline', 'ratio or figure', 'target', 'met'];

/** Formats findings as a table in plain text. */
export function formatTable(findings: readonly Finding[]): string {
  const lines = [HEADER, ...findings.map(cellsOf)];
  const widths = HEADER.map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)));
  const [header = '', ...rows] = lines.map((cells) =>
    cells
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  const rule = widths.map((width) => '-'.repeat(width)).join('  ');
  return [header, rule, ...rows].join('\n');
}

function cellsOf({ what, ours, baseline, figure, target, isMet }: Finding): string[] {
  const met = isMet === undefined ? '?' : isMet ? 'yes' : 'no';
  return [what, ours, baseline, figure, target, met];
}
