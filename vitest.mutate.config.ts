import { defineConfig } from 'vitest/config';

/** The tests of the pure cores, for `npm run mutate`, which runs them once for each broken line. */
export default defineConfig({
  test: {
    include: [
      'test/{brand,calls,collector,options,rows,store,worker}/**/*.test.ts',
      'test/integration/shared-pace.test.ts', // the pace once more, in Redis
    ],
    globalSetup: ['test/support/shared-redis.ts'],
    isolate: false,
    setupFiles: ['test/support/fewer-cases.ts'],
    testTimeout: 20_000,
    expect: { poll: { timeout: 3_000 } },
  },
});
