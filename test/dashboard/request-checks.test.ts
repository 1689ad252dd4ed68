import { describe, expect, it } from 'vitest';
import {
  isFromOurPage,
  isLocalAddress,
  namesThisMachine,
} from '../../src/dashboard/request-checks.ts';

describe('isLocalAddress', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.8.8', true],
    ['localhost', true],
    ['::1', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['localhost.example.com', false],
  ])('of %s is %j', (host, expected) => {
    expect(isLocalAddress(host)).toBe(expected);
  });
});

describe('namesThisMachine', () => {
  it.each([
    ['localhost:8080', true],
    ['127.0.0.1:8080', true],
    ['[::1]:8080', true],
    ['rebound.example.com:8080', false],
    ['127.0.0.1.example.com', false],
    ['', false],
  ])('of %s is %j', (host, expected) => {
    expect(namesThisMachine({ host })).toBe(expected);
  });
});

describe('isFromOurPage', () => {
  const host = 'dash.example.com:8080';
  it.each([
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'same-origin' }, true],
    [{ host, origin: 'http://dash.example.com:8080' }, true],
    [{ host: 'dash.example.com', origin: 'https://dash.example.com' }, true],
    [{ host, origin: 'http://dash.example.com' }, false],
    [{ host, origin: 'http://evil.example.com', fetchSite: 'cross-site' }, false],
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'same-site' }, false],
    [
      { host: 'localhost:8080', origin: 'https://dash.example.com', fetchSite: 'same-origin' },
      true,
    ],
    [{ host: 'localhost:8080', origin: 'https://dash.example.com' }, false],
    [{ host, origin: 'http://dash.example.com:8080', fetchSite: 'none' }, false],
    [{ host, origin: 'null' }, false],
    [{ host, fetchSite: 'same-origin' }, true],
    [{ host }, false],
    [{ origin: 'http://dash.example.com:8080' }, false],
  ])('of %j is %j', (headers, expected) => {
    expect(isFromOurPage(headers)).toBe(expected);
  });
});
