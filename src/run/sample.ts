import type { PlannedRows } from '../collector/plan.ts';
import { hasDomain, type RowIndex, viewOf } from '../collector/row-index.ts';

/** A sample of a list, which is run as a list of its own. */
interface Sample {
  readonly planned: PlannedRows;
  /** That of the list, in which all rows but those of the sample are blank. */
  readonly index: Pick<RowIndex, 'read'>;
}

/**
 * Takes so many domains of a list as evenly spread over it as their number allows, with all their rows.
 * It is the same each time, so that what was asked once is not asked again.
 */
export async function takeSample(
  index: Pick<RowIndex, 'read'>,
  { rows, invalidRows, uniqueDomains, lookups }: PlannedRows,
  sample: number,
): Promise<Sample> {
  const apart = uniqueDomains / Math.min(sample, uniqueDomains);
  const chosen = new Set<string>();
  const counts = { rows: 0, uniqueDomains: 0, freshRows: 0, freshDomains: 0, lookups: 0 };
  let before = 0;
  for await (const some of index.read()) {
    for (const { kind, text, isFirst = false } of some) {
      if (isFirst) {
        if (before >= chosen.size * apart) chosen.add(text);
        before += 1;
      }
      if (!hasDomain({ kind }) || !chosen.has(text)) continue;
      const first = Number(isFirst);
      counts.rows += 1;
      counts.uniqueDomains += first;
      counts.lookups += kind === 'due' ? first : 0;
      counts.freshRows += kind === 'known' ? 1 : 0;
      counts.freshDomains += kind === 'known' ? first : 0;
    }
  }
  const ofInvalid = { invalidRows: 0, invalidByReason: {}, invalidExamples: [], raggedRows: 0 };
  const sampleOf = { rows: rows - invalidRows, lookups };
  return {
    planned: { ...ofInvalid, ...counts, sampleOf },
    index: viewOf(index, (row) =>
      hasDomain(row) && chosen.has(row.text) ? row : { ...row, kind: 'blank', text: '' },
    ),
  };
}
