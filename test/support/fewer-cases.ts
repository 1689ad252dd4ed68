import fc from 'fast-check';

// Each of a thousand broken lines is tried with all tests that come by it; most are seen by the
// first case.
fc.configureGlobal({ numRuns: 20 });
