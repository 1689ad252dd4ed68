// Answers as real APIs and gateways write them, by the first label of the domain: nan.example.com.
const record = { name: 'Example' };
const once = (reply) => (call) => (call === 1 ? reply : { body: record });
const LATER = { 'Retry-After': '2' };

const DIALECTS = {
  '403-with-a-wait': once({ status: 403, headers: LATER, body: { message: 'Slow down' } }),
  '400-with-a-wait': once({ status: 400, headers: LATER, body: { message: 'Busy' } }),
  '429-in-the-body': once({ status: 429, body: { retry_after: 2 } }),
  'gateway-1015': once({ status: 530, body: 'error code: 1015' }),
  queued: once({ headers: LATER, body: { status: 'queued' } }),
  'moved-at-once': once({
    status: 301,
    headers: { Location: '/v1/brand?domain=acme.example.com' },
  }),
  login: () => ({ status: 302, headers: { Location: '/login' } }),
  wall: () => ({
    status: 403,
    headers: { 'cf-mitigated': 'challenge' },
    body: '<h1>One moment</h1>',
  }),
  law: () => ({ status: 451, body: '<h1>Not available here</h1>' }),
  nan: () => ({ body: '{"name":"Example","growth":NaN}' }),
  latin1: () => ({
    headers: { 'Content-Type': 'application/json' },
    body: Buffer.from('{"name":"Zo\xeb"}', 'latin1'),
  }),
  quoted: () => ({ body: JSON.stringify(JSON.stringify(record)) }),
  empty: () => ({ body: { data: null, request_id: 'r7' } }),
  another: () => ({ body: { ...record, domain: 'another.example' } }),
};

export function respond(domain, call) {
  return DIALECTS[domain.split('.')[0]]?.(call);
}
