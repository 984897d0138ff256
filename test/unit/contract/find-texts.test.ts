import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findTexts } from '../../support/find-texts.ts'

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'é'), maxLength: 16 })

it('finds exactly the texts that occur', () => {
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), fc.array(word, { maxLength: 12 }), fc.nat(15), (others, parts, at) => {
      const all = parts.join('')
      const texts = [...others, ...parts, all.slice(at), all.slice(0, at)]
      const bytes = Buffer.from(all)
      expect([...findTexts(bytes, texts)].toSorted()).toEqual([...new Set(texts)].filter((text) => bytes.includes(text)).toSorted())
    }),
    { numRuns: 1000 },
  )
})

it('finds texts at any position, and no truncated ones', () => {
  const all = 'Stored content is read from its beginning to its end.'
  const parts = Array.from({ length: 40 }, (_, at) => all.slice(at, at + 12))
  expect([...findTexts(Buffer.from(all), [...parts, all, `${all}!`, 'its end', 'its End', 'from its End.'])]).toEqual(
    expect.arrayContaining([...parts, all, 'its end']),
  )
  expect(findTexts(Buffer.from(all), [`${all}!`, `!${all}`, 'its End', 'from its End.'])).toEqual(new Set())
})
