import { JOB_FILE_KEYS } from './job-file-keys.ts';
import { schemaOfMap } from './job-file-map.ts';
import type { JsonSchema } from './value-shapes.ts';

/** The JSON Schema of job files, for editors; `jobs/job.schema.json` holds it. */
export function jobFileSchema(): JsonSchema {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $id: 'urn:brandfill:job',
    title: 'Brandfill job',
    description: 'A job for brandfill run; see docs/job-files.md.',
    ...schemaOfMap(JOB_FILE_KEYS),
    definitions: {
      variable: {
        type: 'string',
        pattern: String.raw`\$\{`,
        description: '${NAME} or ${NAME:-default}, from the environment',
      },
    },
  };
}
