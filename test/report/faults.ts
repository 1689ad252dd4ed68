import { Ajv } from 'ajv';
import { type RunReport, runReportSchema } from '../../src/report/run-report.ts';
import { reportJsonSchema } from './json-schema.ts';

const ajv = new Ajv({ allErrors: true, formats: { 'date-time': true } });
const isValid = ajv.compile(reportJsonSchema());

/** What both forms of the schema find wrong. */
export function faultsOf(report: RunReport): readonly unknown[] {
  const read = JSON.parse(JSON.stringify(report)) as RunReport;
  const found = runReportSchema.safeParse(read);
  return [...(found.error?.issues ?? []), ...(isValid(read) ? [] : (isValid.errors ?? []))];
}
