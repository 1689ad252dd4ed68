/** The label of a run. Not `job`: Prometheus has a label of that name itself. */
export function runLabel(run: string | undefined): { readonly run?: string } {
  return run === undefined ? {} : { run };
}
