import { describe, expect, it } from 'vitest';
import { nameOutputColumns } from '../../../src/collector/output/output-columns.ts';

function namesOf(fields: readonly string[], taken: readonly string[], prefix = 'brand_') {
  const { out, failures, renamed } = nameOutputColumns({
    prefix,
    enriched: fields.map((name) => ({ name, valueOf: () => undefined })),
    taken: new Set(taken),
  });
  return { out: out.map(({ name }) => name), failures: failures.map(({ name }) => name), renamed };
}

describe('nameOutputColumns', () => {
  it('gives a number to names that the input has, and tells which', () => {
    const { out, failures, renamed } = namesOf(
      ['name'],
      ['brand_name', 'brand_name_2', 'brand_row'],
    );
    expect(out).toContain('brand_name_3');
    expect(failures).toContain('brand_row_2');
    expect(renamed).toEqual([
      { from: 'brand_name', to: 'brand_name_3' },
      { from: 'brand_row', to: 'brand_row_2' },
    ]);
  });

  it('gives a number to fields that are called like columns of ours, or alike', () => {
    const { out } = namesOf(['domain', 'status', 'a', 'a'], [], '');
    expect(out.join()).toBe('domain,status,fetched_at,domain_2,status_2,a,a_2');
  });
});
