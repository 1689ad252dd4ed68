import type { PlannedRows } from '../collector/first-reading.ts';
import { hasDomain, type RowIndex, viewOf } from '../collector/row-index.ts';

/**
 * Takes so many domains of a list as evenly spread over it as their number allows, with all their
 * rows. A sample is run as a list of its own. It is the same each time, so that what was asked once
 * is not asked again.
 */
export async function takeSample(
  index: Pick<RowIndex, 'read'>,
  { rows, invalidRows, uniqueDomains, lookups }: PlannedRows,
  sample: number,
) {
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
  const planned: PlannedRows = {
    ...ofInvalid,
    ...counts,
    sampleOf: { rows: rows - invalidRows, lookups },
  };
  return {
    planned,
    /** That of the list, in which all rows but those of the sample are blank. */
    index: viewOf(index, (row) =>
      hasDomain(row) && chosen.has(row.text) ? row : { ...row, kind: 'blank', text: '' },
    ),
  };
}
