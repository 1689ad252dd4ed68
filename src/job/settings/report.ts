import type { Definitions } from '../setting-definition.ts';
import { reportPaths } from '../values/setting-values.ts';

/** Settings of the report of a run. */
export interface ReportSettings {
  readonly report: readonly string[] | undefined;
}

export const REPORT_SETTINGS: Definitions<ReportSettings> = {
  report: {
    value: 'FILE',
    isRepeatable: true,
    description:
      'where a report of the run goes: a page that opens anywhere (.html), or its data (.json)',
    parse: reportPaths,
  },
};
