import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst }, // and the unit tests, which share processes, in a row
    // CI counts passed and failed tests from the report.
    reporters: process.env['CI']
      ? ['default', ['json', { outputFile: 'coverage/report.json' }]]
      : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          // They compute all the time, and each worker imports everything anew.
          maxWorkers: availableParallelism(),
          sequence: { groupOrder: 0 },
          testTimeout: 20_000, // the machine may be busy
          expect: { poll: { timeout: 15_000 } },
          // The tests leave nothing behind, and a process for each costs more than they do.
          pool: 'threads',
          isolate: false,
          globalSetup: ['test/support/temporary-folder.ts'],
          setupFiles: ['test/support/leaks.ts'],
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/integration/**',
            'test/chaos/**',
            'test/docs/**',
            'test/simulation/**',
            'test/browser/**',
            'test/queue/over-redis/**',
          ],
        },
      },
      {
        test: {
          name: 'integration',
          // Most of the time they wait for processes of their own.
          maxWorkers: 6,
          sequence: { groupOrder: 1, sequencer: LongestFirst },
          // To import everything anew for each file takes longer than most of their tests.
          isolate: false,
          setupFiles: ['test/support/leaks.ts', 'test/support/forget-secrets.ts'],
          include: [
            'test/{integration,chaos,docs,simulation,browser}/**/*.test.ts',
            'test/queue/over-redis/*.test.ts',
          ],
          globalSetup: [
            'test/support/temporary-folder.ts',
            'test/integration/support/build-setup.ts',
            'test/support/shared-redis.ts',
          ],
          testTimeout: 300_000, // processes take their time to start on a busy machine
          hookTimeout: 120_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
  },
});
