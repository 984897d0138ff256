import type { Reporter, TestModule } from 'vitest/node'
import { faultTable } from './fault-table.ts'

/** Vitest reporter that prints the results of the fault tests as a table. */
export default class FaultReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const rows = modules.flatMap((module) => [...module.children.allTests()]).flatMap((test) => test.meta().faults ?? [])
    if (rows.length > 0) console.log(`\n${faultTable(rows)}\n`)
  }
}
