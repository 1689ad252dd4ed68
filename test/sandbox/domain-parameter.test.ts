import { describe, expect, it } from 'vitest';
import { findDomainProblem, findParameter } from '../../src/sandbox/auth.ts';

describe('findParameter', () => {
  it.each([
    ['domain=a.com', 'a.com'],
    ['x=1&domain=a.com&y=2', 'a.com'],
    ['domain=m%C3%BCnchen.de', 'münchen.de'],
    ['domain=a+b', 'a b'],
    ['domain=', ''],
    ['subdomain=a.com', undefined],
    ['domain=%E0%A4%A', undefined],
    ['', undefined],
  ])('finds in %j the value %j', (query, value) => {
    expect(findParameter(query, 'domain')).toBe(value);
  });
});

describe('findDomainProblem', () => {
  it.each(['a.co', 'acme-tools.com', 'sub.acme.co.uk', 'xn--mnchen-3ya.de', '1und1.de', 'www.com'])(
    'accepts %s',
    (domain) => expect(findDomainProblem(domain)).toBeUndefined(),
  );

  it.each([
    ['', 400],
    ['www.acme.com', 422],
    ['https://acme.com', 422],
    ['Acme.com', 422],
    ['10.0.0.1', 422],
    ['acme.com.', 422],
    ['münchen.de', 422],
    ['not a domain', 422],
    [`${'a'.repeat(64)}.com`, 422],
  ])('refuses %j with %i', (domain, status) => {
    expect(findDomainProblem(domain)?.status).toBe(status);
  });
});
