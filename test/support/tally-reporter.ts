import type { Reporter, TestModule, TestSuite } from 'vitest/node'

/** Vitest reporter that prints the ten slowest files and the totals of all projects (`N passed, N failed`), and fails runs without tests. */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // Errors outside of tests (syntax errors, hooks, unhandled rejections) prevent tests from running, so they count as failures.
    const suites = modules.flatMap((module): (TestModule | TestSuite)[] => [module, ...module.children.allSuites()])
    const broken = suites.filter((suite) => suite.errors().length > 0).length
    const passed = count('passed')
    const failed = count('failed') + broken + unhandledErrors.length
    if (failed > 0 || passed === 0) process.exitCode = 1
    if (modules.length > slowest) console.log(describeSlowest(modules))
    console.log(`${passed} passed, ${failed} failed`)
  }
}

const slowest = 10

function describeSlowest(modules: readonly TestModule[]): string {
  const byTime = modules.toSorted((a, b) => b.diagnostic().duration - a.diagnostic().duration).slice(0, slowest)
  const lines = byTime.map((module) => {
    const seconds = (module.diagnostic().duration / 1000).toFixed(1)
    return `${seconds.padStart(8)} s  ${module.project.name.padEnd(8)}  ${module.relativeModuleId}`
  })
  return ['The slowest files:', ...lines, ''].join('\n')
}
