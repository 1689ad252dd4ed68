export type { EnrichedRow } from './collector/row-object.ts';
export { type EnrichOptions, enrich, enrichRows, plan } from './enrich.ts';
export { BrandfillError, type BrandfillErrorCode } from './errors.ts';
export type { Plan } from './producer/plan.ts';
export type { ListInput } from './rows/list-input.ts';
export type { SandboxOptions } from './sandbox/options.ts';
export { type Sandbox, startSandbox } from './sandbox/server.ts';
export type { RunEvent } from './watch/events.ts';
export type { Summary } from './watch/summary.ts';
