import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    // CI counts passed and failed tests from the report.
    reporters: process.env['CI']
      ? ['default', ['json', { outputFile: 'coverage/report.json' }]]
      : ['default'],
    projects: [
      {
        test: {
          name: 'unit',
          isolate: false, // the tests leave nothing behind, and a process for each costs more than they do
          include: ['test/**/*.test.ts'],
          exclude: ['test/integration/**', 'test/chaos/**', 'test/docs/**'],
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/{integration,chaos,docs}/**/*.test.ts'],
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
});
