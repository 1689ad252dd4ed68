// An outage that says how long it lasts: 20 seconds from call 30 on.
let calls = 0;
let endsAtMs;

export function respond() {
  calls += 1;
  if (calls < 30) return undefined;
  endsAtMs ??= Date.now() + 20_000;
  const leftSeconds = Math.ceil((endsAtMs - Date.now()) / 1_000);
  if (leftSeconds <= 0) return undefined;
  return {
    status: 503,
    headers: { 'Retry-After': String(leftSeconds) },
    body: { error: 'maintenance' },
  };
}
