import { expect, it } from 'vitest'
import { cursorIn, formatCode, isComplete } from '../../../web/sign-in/device-code.ts'

it.each([
  ['', ''],
  ['b', 'B'],
  ['bcdf', 'BCDF'],
  ['BCDF-', 'BCDF'],
  ['bcdfg', 'BCDF-G'],
  ['bcdfghjk', 'BCDF-GHJK'],
  ['BCDF-GHJK', 'BCDF-GHJK'],
  ['  bcdf – ghjk ', 'BCDF-GHJK'],
  ['b c d f g h j k l m', 'BCDF-GHJK'],
  ['1b2c!', 'BC'],
])('formats %j as devices show it', (typed, expected) => {
  expect(formatCode(typed)).toBe(expected)
})

it('is complete with eight letters', () => {
  expect([formatCode('bcdfghj'), formatCode('bcdfghjk')].map(isComplete)).toEqual([false, true])
})

it.each([
  ['bcdf', 4, 4],
  ['BCDFG', 5, 6],
  ['BCxDF-GHJK', 3, 3],
  ['-BCDF', 1, 0],
  ['BCDF-GHJ', 5, 4],
])('keeps the cursor of %j after the same letter', (typed, position, expected) => {
  expect(cursorIn(typed, position)).toBe(expected)
})
