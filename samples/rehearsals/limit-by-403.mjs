// A limit of 20 calls a second that refuses with 403, and says no word about it.
let startMs = 0;
let calls = 0;

export function respond() {
  if (Date.now() - startMs >= 1_000) {
    startMs = Date.now();
    calls = 0;
  }
  calls += 1;
  return calls > 20 ? { status: 403, body: { message: 'Forbidden' } } : undefined;
}
