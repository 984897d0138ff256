import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node'

/**
 * Vitest reporter that prints the ten slowest files, the failed tests and the totals of all projects (`N passed, N failed`), and fails runs without
 * tests. The failed tests are at the end, with one line each, so that a log that was cut off still names them.
 */
export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // Errors outside of tests (syntax errors, hooks, unhandled rejections) prevent tests from running, so they count as failures.
    const suites = modules.flatMap((module): (TestModule | TestSuite)[] => [module, ...module.children.allSuites()])
    const broken = suites.filter((suite) => suite.errors().length > 0)
    const failures = [
      ...tests.filter((test) => test.result().state === 'failed').map(describeFailure),
      ...broken.map(describeFailure),
      ...unhandledErrors.map((error) => `  ${onOneLine(error)}`),
    ]
    const passed = count('passed')
    const failed = failures.length
    if (failed > 0 || passed === 0) process.exitCode = 1
    if (modules.length > slowest) console.log(describeSlowest(modules))
    if (failed > 0) console.log(['The failed tests:', ...failures, ''].join('\n'))
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

/** Returns a line with the file, the name and the error of what failed. */
function describeFailure(failed: TestCase | TestModule | TestSuite): string {
  const { relativeModuleId } = failed.type === 'module' ? failed : failed.module
  const name = failed.type === 'module' ? '' : `${failed.fullName}: `
  const errors = failed.type === 'test' ? failed.result().errors : failed.errors()
  return `  ${failed.project.name}  ${relativeModuleId}  ${name}${onOneLine(errors?.[0])}`
}

const maxErrorLength = 500

/** Returns the message of an error, and where it was thrown, as one line. */
function onOneLine(error: unknown): string {
  const { message = String(error), stack = '' } = (error ?? {}) as Partial<Error>
  // Vitest adds a query to the addresses of test files.
  const place = /[\w-]+\.test\.ts\S*?:\d+(?=:)/.exec(stack)?.[0].replace(/\?[^:]*/, '')
  return `${message.replaceAll(/\s+/g, ' ').slice(0, maxErrorLength)}${place ? ` (${place})` : ''}`
}
