import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { checkOpenFileLimit } from '../../../server/operations/checks/doctor/machine.ts'
import { lowFileLimit, openFileLimit } from '../../../server/platform/config/warnings.ts'

it.each([64, 256, 1024, 4095])('warns about a limit of %i open files, and names the limit needed', (limit) => {
  const problem = `This process may open only ${limit} files and connections. Raise the limit to 4096 or more: `
  expect(lowFileLimit(limit)).toContain(problem)
  expect(checkOpenFileLimit(limit)).toMatchObject({ name: 'open files', status: 'warning', message: expect.stringContaining(problem) })
})

it.each([4096, 65_536, null])('does not warn about a limit of %s open files', (limit) => {
  expect(lowFileLimit(limit)).toBeNull()
  expect(checkOpenFileLimit(limit)).toMatchObject({ name: 'open files', status: 'ok' })
})

it('reads the limit of this process', () => {
  if (process.platform === 'win32') return expect(openFileLimit()).toBeNull()
  const limit = execFileSync('sh', ['-c', 'ulimit -n']).toString().trim()
  expect(openFileLimit()).toBe(limit === 'unlimited' ? null : Number(limit))
})
