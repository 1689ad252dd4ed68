// From call 30 on, all domains are refused in the same way, as when a plan has ended.
let calls = 0;

export function respond(domain) {
  calls += 1;
  if (calls < 30) return undefined;
  return {
    status: 422,
    body: { error: { code: 'plan_required', message: `No access to ${domain}` } },
  };
}
