import type { RunControl } from './common/run-control.ts';
import type { OPTIONS, OptionsOf } from './options/options.ts';
import type { OptionKinds } from './options/read-options.ts';
import type { Plan } from './producer/plan.ts';
import type { ListInput } from './rows/list-input.ts';
import type { RunEvent } from './watch/events.ts';

/** Options of a run that are no settings of a job. */
interface BesideSettings {
  /** Path of an XLSX, CSV, TSV or JSONL file, `-` for standard input, or rows as objects. */
  readonly input: ListInput;
  /** The credential. @default BRANDFILL_API_KEY */
  readonly apiKey?: string | undefined;
  /** The name of the changes file from run to run, if its path has a date. @default its path */
  readonly changesId?: string | undefined;
  /** Asked before the first call. False ends it with an `AbortError`. @default no question */
  readonly confirm?: ((plan: Plan) => Promise<boolean>) | undefined;
  /** The token that viewers need, if others can reach it. @default BRANDFILL_DASHBOARD_TOKEN */
  readonly token?: string | undefined;
  /**
   * Stops the run in order: no new call starts, calls under way get ten seconds, and all rows are
   * written, those not asked as `skipped`. Before the first call it ends the run with the signal's
   * reason.
   */
  readonly signal?: AbortSignal | undefined;
  /** The id of the run in logs and in its summary. @default random */
  readonly runId?: string | undefined;
  /** Called as the run goes on. If it throws, the run stops and rejects with that error. */
  readonly onEvent?: ((event: RunEvent) => void) | undefined;
  /** Pauses, resumes and stops the run; made by `createRunControl`. @default no control */
  readonly control?: RunControl | undefined;
}

/** Options of a run. Durations are texts such as `'30d'`, or milliseconds. */
export interface EnrichOptions extends OptionsOf<typeof OPTIONS>, BesideSettings {}

export const BESIDE_SETTINGS: OptionKinds<BesideSettings> = {
  input: 'list',
  apiKey: 'text',
  changesId: 'text',
  confirm: 'function',
  signal: 'signal',
  runId: 'text',
  onEvent: 'function',
  control: 'control',
  token: 'text',
};
