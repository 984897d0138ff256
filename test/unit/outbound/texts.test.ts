import { expect, it } from 'vitest'
import { isStorable } from '../../../server/platform/outbound/texts.ts'

it('finds texts that the database cannot store at any depth, in keys too', () => {
  const nested = (inner: string): unknown => JSON.parse('['.repeat(6000) + inner + ']'.repeat(6000))
  expect([isStorable(nested('"x"')), isStorable(nested(String.raw`"\u0000"`)), isStorable(nested(String.raw`{"\ud800": 1}`))]).toEqual([
    true,
    false,
    false,
  ])
})
