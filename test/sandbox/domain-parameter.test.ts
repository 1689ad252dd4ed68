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
    '',
    'www.acme.com',
    'https://acme.com',
    'Acme.com',
    '10.0.0.1',
    '[::1]',
    'acme.com:80',
    'acme.com.',
    'acme.com/about',
    'info@acme.com',
    'münchen.de',
  ])('answers 400 to %j, which is nearly a domain', (domain) => {
    expect(findDomainProblem(domain)?.status).toBe(400);
  });

  it.each([
    'acme',
    'not a domain',
    '-acme.com',
    'a..com',
    `${'a'.repeat(64)}.com`,
    'acme.123',
    'a_b.com',
  ])('answers 422 to %j, which is none', (domain) =>
    expect(findDomainProblem(domain)?.status).toBe(422),
  );
});
