import { describe, expect, test } from 'vitest';
import { parseRedisUrl } from '../../src/common/addresses.ts';
import { BrandfillError } from '../../src/common/errors.ts';

describe('parseRedisUrl', () => {
  test.each([
    ['redis://localhost', { host: 'localhost', port: 6379, db: 0 }],
    ['redis://localhost:6380', { host: 'localhost', port: 6380, db: 0 }],
    ['redis://localhost/', { host: 'localhost', port: 6379, db: 0 }],
    ['redis://localhost:6379/3', { host: 'localhost', port: 6379, db: 3 }],
    [' redis://redis_1.internal/3/ \n', { host: 'redis_1.internal', port: 6379, db: 3 }],
    ['REDIS://localhost', { host: 'localhost', port: 6379, db: 0 }],
    ['redis://[::1]:6380/1', { host: '::1', port: 6380, db: 1 }],
    ['redis://[2001:db8::7]', { host: '2001:db8::7', port: 6379, db: 0 }],
  ])('%s is one Redis', (url, options) => {
    expect(parseRedisUrl(url)).toEqual({ kind: 'single', options });
  });

  test.each([
    [':secret', { password: 'secret' }],
    ['user:secret', { username: 'user', password: 'secret' }],
    ['user:se:cret', { username: 'user', password: 'se:cret' }],
    ['us%40er:p%40ss%2Fw%3Fo%23r%25d', { username: 'us@er', password: 'p@ss/w?o#r%d' }],
    [':p%C3%A4ss%20word', { password: 'päss word' }],
    [':$ecr&t+=!,', { password: '$ecr&t+=!,' }],
    ['user', { username: 'user' }],
    ['', {}],
  ])('%s@ logs in', (login, access) => {
    expect(parseRedisUrl(`redis://${login}@localhost`)).toEqual({
      kind: 'single',
      options: { host: 'localhost', port: 6379, db: 0, ...access },
    });
  });

  const NODE = { host: 'a', port: 6379 };
  test.each(
    Object.entries({
      'rediss://:pw@redis.example:6380/2': {
        options: {
          host: 'redis.example',
          port: 6380,
          db: 2,
          password: 'pw',
          tls: { servername: 'redis.example' }, // asks for the certificate of that host
        },
      },
      'rediss://192.0.2.7': { options: { host: '192.0.2.7', port: 6379, db: 0, tls: {} } },
      'rediss://[::1]': { options: { host: '::1', port: 6379, db: 0, tls: {} } },
      'redis-sentinel://u:pw@a,b:26380,[::1]/my%20master/4?sentinelPassword=p%40ss%26&sentinelUsername=u':
        {
          options: {
            username: 'u',
            password: 'pw',
            sentinels: [
              { host: 'a', port: 26379 },
              { host: 'b', port: 26380 },
              { host: '::1', port: 26379 },
            ],
            name: 'my master',
            db: 4,
            sentinelPassword: 'p@ss&',
            sentinelUsername: 'u',
          },
        },
      'rediss-sentinel://a/m': {
        options: {
          sentinels: [{ host: 'a', port: 26379 }],
          name: 'm',
          db: 0,
          tls: {},
          sentinelTLS: {},
          enableTLSForSentinelMode: true,
        },
      },
      'redis-cluster://:pw@a,[::1]:7002': {
        kind: 'cluster',
        nodes: [NODE, { host: '::1', port: 7002 }],
        access: { password: 'pw' },
      },
      'rediss-cluster://a/0': { kind: 'cluster', nodes: [NODE], access: { tls: {} } },
      'redis+unix://me:p%40ss@/run/my%20redis.sock?db=2': {
        options: { username: 'me', password: 'p@ss', path: '/run/my redis.sock', db: 2 },
      },
      'redis+unix:///run/redis.sock': { options: { path: '/run/redis.sock', db: 0 } },
    }),
  )('%s is all that it says', (url, address) => {
    expect(parseRedisUrl(url)).toEqual({ kind: 'single', ...address });
  });

  test.each([
    '',
    'http://hunter2:6379',
    'redis://',
    'redis://:hunter2@',
    'redis://,hunter2',
    'redis://a:0',
    'redis://a:hunter2',
    'redis://[hunter2]',
    'redis://a/hunter2',
    'redis://a?db=hunter2',
    'redis://:hunter2%zz@a',
    // Characters of a password that should have been percent-encoded.
    'redis://:pass@hunter2@a',
    'redis://user:12/hunter2@a',
    'redis://:pass?hunter2@a',
    'redis-sentinel://user:12/hunter2@a/mymaster',
    'redis-sentinel://hunter2',
    'redis-sentinel://a/%zzhunter2',
    'redis-cluster://a/1',
    'redis+unix://hunter2/x.sock',
    'redis+unix://user:12/hunter2@/x.sock',
    'redis-cluster://a?sentinelPassword=hunter2',
    'redis-sentinel://a/m?sentinelPassword=',
    'redis-sentinel://a/m?sentinelPassword=p@hunter2',
  ])('%s is refused and not repeated', (url) => {
    const parse = (): unknown => parseRedisUrl(url);
    expect(parse).toThrow(BrandfillError);
    expect(parse).toThrow(/^(?!.*hunter2)expected a URL such as redis:\/\/./s);
  });
});
