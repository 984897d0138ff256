import type { Reporter, TestModule } from 'vitest/node'
import { faultTable } from './fault-table.ts'

/** Prints what the fault tests found, as a table. */
export default class FaultReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]) {
    const rows = modules.flatMap((module) => [...module.children.allTests()]).flatMap((test) => test.meta().faults ?? [])
    if (rows.length > 0) console.log(`\n${faultTable(rows)}\n`)
  }
}
