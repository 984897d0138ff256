import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'

// Measures ticks before and after many full collections while no tick was pending. Uses CPU time, because the machine may be busy.
const program = `
  import { keepTickClass } from './server/platform/threads/slices.ts'
  keepTickClass()
  const ticks = (left) => new Promise((resolve) => {
    const next = () => (--left > 0 ? process.nextTick(next) : resolve())
    next()
  })
  async function cost() {
    const before = process.cpuUsage()
    await ticks(300_000)
    const { user, system } = process.cpuUsage(before)
    return user + system
  }
  async function collect(times) {
    for (let time = 0; time < times; time++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      gc({ type: 'major', flavor: 'last-resort' })
    }
  }
  await cost()
  const early = Math.min(await cost(), await cost(), await cost())
  await collect(50)
  console.log(JSON.stringify({ early, late: Math.min(await cost(), await cost(), await cost()) }))
`

it('keeps the cost of ticks after many collections', () => {
  const args = ['--expose-gc', '--input-type=module', '--eval', program]
  const { early, late } = JSON.parse(execFileSync(process.execPath, args, { encoding: 'utf8' })) as Record<'early' | 'late', number>
  expect(late / early).toBeLessThan(3)
})
