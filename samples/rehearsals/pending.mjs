// 202: accepted, and ready later. Every third domain is ready at the third call.
export function respond(domain, call) {
  const isSlow = domain.length % 3 === 0;
  return isSlow && call < 3 ? { status: 202, headers: { 'Retry-After': '1' } } : undefined;
}
