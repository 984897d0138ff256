import { execFileSync } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { expect, it } from 'vitest'
import { excludeFirstCpu, withoutFirstCpu } from '../../../server/platform/sandbox/command.ts'

it.each([
  ['0-1', '1'],
  ['0-3', '1-3'],
  ['2-3,8', '3,8'],
  ['0,4-7', '4-7'],
  ['5,7', '7'],
  ['0', null],
  ['', null],
  ['0-1; reboot', null],
])('excludes the first of the processors %j: %j', (list, others) => {
  expect(withoutFirstCpu(list)).toBe(others)
})

it('excludes one of several processors for programs that a shell starts', () => {
  const shown = execFileSync('/bin/sh', ['-c', `${excludeFirstCpu()} exec grep Cpus_allowed: /proc/self/status`], { encoding: 'utf8' })
  const mask = BigInt(`0x${shown.replace(/^.*:\s*|[,\s]/g, '')}`)
  const count = mask.toString(2).replaceAll('0', '').length
  expect(count).toBe(Math.max(1, availableParallelism() - 1))
})
