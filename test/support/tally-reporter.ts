import type { Reporter, TestModule, TestSuite } from 'vitest/node'

/** Ends the output with `N passed, N failed` over all projects, and lets no run without tests succeed. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // What broke outside of any test (a syntax error, a hook, a stray rejection) hides tests, so it counts as a failure too.
    const suites = modules.flatMap((module): (TestModule | TestSuite)[] => [module, ...module.children.allSuites()])
    const broken = suites.filter((suite) => suite.errors().length > 0).length
    const passed = count('passed')
    const failed = count('failed') + broken + unhandledErrors.length
    if (failed > 0 || passed === 0) process.exitCode = 1
    console.log(`${passed} passed, ${failed} failed`)
  }
}
