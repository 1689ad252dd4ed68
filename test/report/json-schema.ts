import { z } from 'zod';
import { runReportSchema } from '../../src/report/run-report.ts';

/**
 * The schema of reports that is shipped: a later version may have more members, while this one must
 * have none that is not in it.
 */
export function reportJsonSchema(): Readonly<Record<string, unknown>> {
  const { $schema, ...schema } = z.toJSONSchema(runReportSchema, {
    target: 'draft-7',
    override: ({ jsonSchema }) => {
      delete jsonSchema.additionalProperties;
    },
  });
  return { $schema, $id: 'urn:brandfill:report', title: 'Report of a run of Brandfill', ...schema };
}
