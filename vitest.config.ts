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
