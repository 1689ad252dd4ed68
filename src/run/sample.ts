import { createCounts } from '../collector/counts.ts';
import type { PlannedRows } from '../collector/plan.ts';
import { createRowIndex, type IndexedRow, type RowIndex } from '../collector/row-index.ts';

/** A sample of a list, which is run as a list of its own. */
export interface Sample {
  readonly planned: PlannedRows;
  /** That of the list, in which all rows but those of the sample are blank. */
  readonly index: RowIndex;
}

/**
 * Takes so many domains of a list as evenly spread over it as their number allows, with all their rows.
 * It is the same each time, so that what was asked once is not asked again.
 */
export async function takeSample(
  index: Pick<RowIndex, 'read'>,
  { rows, invalidRows, uniqueDomains, lookups }: PlannedRows,
  { sample, spoolFolder }: { readonly sample: number; readonly spoolFolder: string },
): Promise<Sample> {
  const chosen = await spread(index, uniqueDomains, Math.min(sample, uniqueDomains));
  const made = await createRowIndex(spoolFolder);
  const seen = createCounts();
  const counts = { rows: 0, uniqueDomains: 0, freshRows: 0, freshDomains: 0, lookups: 0 };
  for await (const some of index.read()) {
    await made.append(
      some.map((row): IndexedRow => {
        const { kind, text } = row;
        if (!hasDomain(row) || !chosen.has(text)) return leftOut(row);
        const isFirst = seen.add(text) === 1 ? 1 : 0;
        counts.rows += 1;
        counts.uniqueDomains += isFirst;
        counts.lookups += kind === 'due' ? isFirst : 0;
        counts.freshRows += kind === 'known' ? 1 : 0;
        counts.freshDomains += kind === 'known' ? isFirst : 0;
        return row;
      }),
    );
  }
  const ofInvalid = { invalidRows: 0, invalidByReason: {}, invalidExamples: [], raggedRows: 0 };
  const sampleOf = { rows: rows - invalidRows, lookups };
  return { planned: { ...ofInvalid, ...counts, sampleOf }, index: made };
}

async function spread(
  index: Pick<RowIndex, 'read'>,
  domains: number,
  count: number,
): Promise<ReadonlySet<string>> {
  const chosen = new Set<string>();
  const seen = createCounts();
  for await (const rows of index.read()) {
    for (const row of rows) {
      const before = seen.size;
      if (!hasDomain(row) || seen.add(row.text) > 1) continue;
      if (before >= (chosen.size * domains) / count) chosen.add(row.text);
    }
    if (chosen.size >= count) break;
  }
  return chosen;
}

function leftOut(row: IndexedRow): IndexedRow {
  return { ...row, kind: 'blank', text: '' };
}

function hasDomain({ kind }: IndexedRow): boolean {
  return kind === 'due' || kind === 'known';
}
