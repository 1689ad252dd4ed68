import { expect, it } from 'vitest';
import { parseListenAddress } from '../../../src/job/values/listen-address.ts';

it.each([
  ['8080', { host: '127.0.0.1', port: 8080 }],
  [8080, { host: '127.0.0.1', port: 8080 }],
  [' 0 ', { host: '127.0.0.1', port: 0 }],
  ['localhost:8080', { host: 'localhost', port: 8080 }],
  ['0.0.0.0:9464', { host: '0.0.0.0', port: 9464 }],
  ['[::]:9464', { host: '::', port: 9464 }],
  ['[::1]:9464', { host: '::1', port: 9464 }],
])('reads %j', (value, address) => {
  expect(parseListenAddress(value)).toEqual(address);
});

it.each(['', ':8080', '65536', '-1', '80.5', 'localhost', 'http://localhost:8080', '::1:80', true])(
  'refuses %j and says what was expected',
  (value) => {
    expect(() => parseListenAddress(value)).toThrow(
      `expected a port such as 8080, 0 for any that is free, or an address such as 0.0.0.0:8080 or [::]:8080, received '${value}'`,
    );
  },
);
